/// Secret bytes that arrive in pieces, in one growing block of ``LockedPages``.
///
/// Growing moves the bytes to a larger block and wipes the old one. Like ``SecretBytes`` it cannot be copied or
/// printed, and is wiped when it is destroyed.
///
/// If memory cannot be locked, a buffer made by ``init(minimumCapacity:)`` traps. One made by
/// ``init(lockedCapacity:)`` never does: the initialiser throws if its first block cannot be locked, and bytes for
/// which a block cannot grow are dropped and recorded as its ``refusal``, which the owner has to check.
@safe
public struct SecretBuffer: ~Copyable {
    @usableFromInline
    internal var block: UnsafeMutableRawBufferPointer

    @usableFromInline
    internal var used = 0

    /// Whether a failed allocation is recorded as the ``refusal``; otherwise it traps.
    @usableFromInline
    internal let remembersRefusal: Bool

    /// Why the buffer lacks bytes that were appended; nil while it has them all.
    public private(set) var refusal: SecretMemoryError?

    /// The number of bytes held.
    @inlinable
    public var count: Int { used }

    /// An empty buffer with room for `minimumCapacity` bytes; traps if memory cannot be locked, now or when it grows.
    public init(minimumCapacity: Int = 0) {
        unsafe block = UnsafeMutableRawBufferPointer(start: nil, count: 0)
        remembersRefusal = false
        reserve(minimumCapacity)
    }

    /// An empty buffer with room for `capacity` bytes that records its ``refusal``.
    ///
    /// - Throws: ``SecretMemoryError`` if memory cannot be locked.
    public init(lockedCapacity capacity: Int) throws(SecretMemoryError) {
        unsafe block = UnsafeMutableRawBufferPointer(start: nil, count: 0)
        remembersRefusal = true
        try reserveLocked(capacity)
    }

    /// Makes room for `minimumCapacity` bytes in all.
    ///
    /// - Throws: ``SecretMemoryError`` if memory cannot be locked; the buffer is unchanged.
    public mutating func reserveLocked(_ minimumCapacity: Int) throws(SecretMemoryError) {
        guard minimumCapacity > capacity else { return }
        try unsafe move(to: LockedPages.allocate(larger(minimumCapacity)))
    }

    /// The number of bytes that fit before the buffer has to move.
    @inlinable
    public var capacity: Int { unsafe block.count }

    /// Makes room for `minimumCapacity` bytes in all.
    @inlinable
    public mutating func reserve(_ minimumCapacity: Int) {
        if minimumCapacity > capacity { _ = grow(to: minimumCapacity) }
    }

    /// Appends one byte.
    @inlinable
    public mutating func append(_ octet: UInt8) {
        if count == capacity, !grow(to: count + 1) { return }
        unsafe block[count] = octet
        used += 1
    }

    /// Appends `octets`, which must not be this buffer's own.
    @inlinable
    public mutating func append(contentsOf octets: UnsafeRawBufferPointer) {
        guard octets.count > 0 else { return }
        let newCount = count + octets.count
        if newCount > capacity, !grow(to: newCount) { return }
        unsafe copySecret(octets, to: UnsafeMutableRawBufferPointer(rebasing: block[count...]))
        used = newCount
    }

    /// Appends `octets`.
    @inlinable
    public mutating func append(contentsOf octets: Span<UInt8>) {
        unsafe octets.withUnsafeBytes { unsafe append(contentsOf: $0) }
    }

    /// Inserts `octets`, which must not be this buffer's own, before the bytes already held.
    public mutating func prepend(contentsOf octets: UnsafeRawBufferPointer) {
        guard octets.count > 0, capacity >= count + octets.count || grow(to: count + octets.count) else {
            return
        }
        let held = unsafe UnsafeRawBufferPointer(rebasing: block[..<count])
        unsafe copySecret(held, to: UnsafeMutableRawBufferPointer(rebasing: block[octets.count...]))
        unsafe copySecret(octets, to: block)
        used += octets.count
    }

    /// Lets `fill` write up to `capacity` bytes at the end, as read(2) does, and keeps as many as it returns.
    ///
    /// - Parameters:
    ///   - capacity: how many bytes `fill` may write; call ``reserveLocked(_:)`` first in a buffer that must not
    ///     trap.
    ///   - fill: writes from the start of the memory it is lent and returns how many bytes it wrote.
    /// - Returns: what `fill` returned.
    /// - Throws: what `fill` threw; the buffer is unchanged, and the bytes written are wiped.
    public mutating func append<E: Error>(
        upTo capacity: Int,
        filledBy fill: (UnsafeMutableRawBufferPointer) throws(E) -> Int
    ) throws(E) -> Int {
        reserve(count + capacity)
        precondition(count + capacity <= self.capacity, "no room was reserved")
        let room = unsafe UnsafeMutableRawBufferPointer(rebasing: block[count..<(count + capacity)])
        do {
            let written = try unsafe fill(room)
            precondition(written >= 0 && written <= capacity, "more bytes than there was room for")
            used += written
            return written
        } catch {
            unsafe wipe(room)
            throw error
        }
    }

    /// Wipes all bytes.
    ///
    /// - Parameter keepingCapacity: whether the block is kept for later bytes.
    public mutating func removeAll(keepingCapacity: Bool = false) {
        if keepingCapacity {
            unsafe wipe(UnsafeMutableRawBufferPointer(rebasing: block[..<count]))
        } else {
            unsafe LockedPages.release(block)
            unsafe block = UnsafeMutableRawBufferPointer(start: nil, count: 0)
        }
        used = 0
    }

    /// Lends the bytes for the length of `body`; the span cannot outlive the call.
    @inlinable
    public borrowing func withOctets<R: ~Copyable, E: Error>(
        _ body: (Span<UInt8>) throws(E) -> R
    ) throws(E) -> R {
        let octets = unsafe UnsafeRawBufferPointer(start: block.baseAddress, count: count)
        return try unsafe body(octets.assumingMemoryBound(to: UInt8.self).span)
    }

    /// Lends the bytes to C for the length of `body`; the pointer must not outlive the call.
    @inlinable
    public borrowing func withUnsafeBytes<R: ~Copyable, E: Error>(
        _ body: (UnsafeRawBufferPointer) throws(E) -> R
    ) throws(E) -> R {
        try unsafe body(UnsafeRawBufferPointer(start: block.baseAddress, count: count))
    }

    /// Hands the block over without a copy.
    public consuming func finish() -> SecretBytes {
        let secret = unsafe SecretBytes(adopting: block, count: count)
        discard self
        return secret
    }

    /// False if memory cannot be locked; the buffer records this and appends nothing from then on.
    @usableFromInline
    internal mutating func grow(to minimumCapacity: Int) -> Bool {
        if refusal != nil { return false }
        guard remembersRefusal else {
            unsafe move(to: LockedPages.allocateOrTrap(larger(minimumCapacity)))
            return true
        }
        do throws(SecretMemoryError) {
            try reserveLocked(minimumCapacity)
            return true
        } catch {
            refusal = error
            return false
        }
    }

    /// Doubles the capacity, or adds 64 KiB if that is less: locked memory is scarce.
    private func larger(_ minimumCapacity: Int) -> Int {
        max(minimumCapacity, capacity + min(capacity, LockedPages.regionByteCount))
    }

    private mutating func move(to larger: UnsafeMutableRawBufferPointer) {
        unsafe copySecret(UnsafeRawBufferPointer(start: block.baseAddress, count: count), to: larger)
        unsafe LockedPages.release(block)
        unsafe block = larger
    }

    deinit {
        unsafe LockedPages.release(block)
    }
}

extension SecretBuffer: @unchecked Sendable {}  // reachable only through its one owner
