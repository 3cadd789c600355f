/// Secret bytes in one block of ``LockedPages``, wiped when they are destroyed.
///
/// The type is not copyable, so the compiler shows every place where a secret is handed on; and it is not
/// `CustomStringConvertible`, so `"\(secret)"` does not compile.
///
/// Secrets never fall back to ordinary memory. If memory cannot be locked, the initialisers whose first label begins
/// with `locked` throw: they are for code that runs in an app's process, whose limits are not ours. All others trap:
/// they are for the daemon, which refuses to start without ``LockedPages/prepare()`` and accounts for the memory it
/// locks.
@safe
public struct SecretBytes: ~Copyable {
    @usableFromInline
    internal let block: UnsafeMutableRawBufferPointer

    /// The number of bytes held.
    public let count: Int

    /// Takes over a block of locked memory that holds `count` bytes.
    internal init(adopting block: UnsafeMutableRawBufferPointer, count: Int) {
        unsafe self.block = block
        self.count = count
    }

    /// Allocates `count` bytes and lets `fill` write them in place, so that no second copy exists.
    ///
    /// The bytes are zero before. If `fill` throws, the bytes it wrote are wiped.
    public init<E: Error>(
        count: Int,
        filledBy fill: (inout MutableSpan<UInt8>) throws(E) -> Void
    ) throws(E) {
        self.init(zeros: count)
        let filled = unsafe UnsafeMutableRawBufferPointer(rebasing: block[..<count])
        var octets = unsafe filled.assumingMemoryBound(to: UInt8.self).mutableSpan
        try fill(&octets)
    }

    /// ``init(count:filledBy:)`` for C functions that write to a pointer.
    package init<E: Error>(
        octetCount count: Int,
        unsafelyFilledBy fill: (UnsafeMutableRawBufferPointer) throws(E) -> Void
    ) throws(E) {
        self.init(zeros: count)
        try unsafe fill(UnsafeMutableRawBufferPointer(rebasing: block[..<count]))
    }

    /// Allocates `count` bytes and lets `fill` write them in place; they are zeros before.
    ///
    /// - Throws: ``SecretMemoryError`` where memory cannot be locked.
    public init(
        lockedCount count: Int,
        filledBy fill: (inout MutableSpan<UInt8>) -> Void
    ) throws(SecretMemoryError) {
        precondition(count >= 0, "a negative count")
        unsafe self.block =
            count == 0
            ? UnsafeMutableRawBufferPointer(start: nil, count: 0) : try LockedPages.allocate(count)
        self.count = count
        let filled = unsafe UnsafeMutableRawBufferPointer(rebasing: block[..<count])
        var octets = unsafe filled.assumingMemoryBound(to: UInt8.self).mutableSpan
        fill(&octets)
    }

    private init(zeros count: Int) {
        precondition(count >= 0, "a negative count")
        if count == 0 {
            unsafe self.block = UnsafeMutableRawBufferPointer(start: nil, count: 0)
        } else {
            unsafe self.block = LockedPages.allocateOrTrap(count)
        }
        self.count = count
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

    deinit {
        unsafe LockedPages.release(block)
    }
}

extension SecretBytes {
    /// Copies `octets`, whose owner still has to wipe them.
    public init(copying octets: Span<UInt8>) {
        self.init(count: octets.count) { copy in
            unsafe octets.withUnsafeBytes { octets in
                unsafe copy.withUnsafeMutableBytes { unsafe copySecret(octets, to: $0) }
            }
        }
    }

    /// Copies `octets`, whose owner still has to wipe them.
    ///
    /// - Throws: ``SecretMemoryError`` where memory cannot be locked.
    public init(lockedCopy octets: Span<UInt8>) throws(SecretMemoryError) {
        try self.init(lockedCount: octets.count) { copy in
            unsafe octets.withUnsafeBytes { octets in
                unsafe copy.withUnsafeMutableBytes { unsafe copySecret(octets, to: $0) }
            }
        }
    }

    /// Copies `octets`, whose owner still has to wipe them.
    public init(copying octets: borrowing [UInt8]) {
        self.init(copying: octets.span)
    }

    /// Copies `octets`, whose owner still has to wipe them.
    public init(copying octets: UnsafeRawBufferPointer) {
        unsafe self.init(octetCount: octets.count, unsafelyFilledBy: { unsafe copySecret(octets, to: $0) })
    }

    /// Moves a secret that arrived in an array: copies it, wipes the array and leaves it empty.
    ///
    /// See ``wipe(_:)`` for the copies that an array may leave behind.
    public init(consumingAndWiping array: inout [UInt8]) {
        self.init(copying: array.span)
        wipe(&array)
        array = []
    }

    /// `count` bytes from the kernel's generator, filled in place.
    public static func random(count: Int) -> SecretBytes {
        SecretBytes(count: count) { RandomBytes.fill(&$0) }
    }

    /// A second secret with the same bytes; explicit, because each copy has to be protected.
    public borrowing func copy() -> SecretBytes {
        withOctets { SecretBytes(copying: $0) }
    }

    /// A second secret with the same bytes.
    ///
    /// - Throws: ``SecretMemoryError`` where memory cannot be locked.
    public borrowing func lockedCopy() throws(SecretMemoryError) -> SecretBytes {
        try withOctets { octets throws(SecretMemoryError) in try SecretBytes(lockedCopy: octets) }
    }

    /// Compares in time that depends on the length alone.
    public borrowing func matches(_ other: borrowing SecretBytes) -> Bool {
        withOctets { mine in other.withOctets { theirs in ConstantTime.areEqual(mine, theirs) } }
    }
}

extension SecretBytes: @unchecked Sendable {}  // immutable once filled, reachable only through its one owner
