internal import CLinux
internal import SecretMemory

/// A reusable place for keys that each open one record, one after the other, such as the items of a list.
///
/// The current key and its round keys are in locked memory, which is wiped before the next key is loaded.
public struct AEADKeyPlace: ~Copyable {
    private static let expansionDepth = 2 * 1024

    private var key = SecretBuffer(minimumCapacity: Key.byteCount)
    private var context = SecretBuffer(minimumCapacity: AEADKey.contextByteCount)

    /// An empty place.
    public init() {}

    /// Opens a sealed key and makes it the current key.
    public mutating func take(
        _ sealed: UnsafeRawBufferPointer,
        with wrapping: AEADKey,
        authenticating associated: UnsafeRawBufferPointer
    ) throws(AEAD.NotAuthentic) {
        key.removeAll(keepingCapacity: true)
        _ = try unsafe key.append(upTo: Key.byteCount) { (room) throws(AEAD.NotAuthentic) in
            try unsafe AEAD.open(sealed, with: wrapping, authenticating: associated, into: room)
            return Key.byteCount
        }
        unsafe key.withUnsafeBytes { unsafe Self.expand($0, into: &context) }
    }

    /// Wipes the current key.
    public mutating func clear() {
        key.removeAll(keepingCapacity: true)
        context.removeAll(keepingCapacity: true)
    }

    /// Makes a copy of `key` the current key.
    public mutating func take(_ key: Key) {
        unsafe key.withUnsafeBytes { unsafe Self.expand($0, into: &context) }
    }

    private static func expand(_ key: UnsafeRawBufferPointer, into context: inout SecretBuffer) {
        context.removeAll(keepingCapacity: true)
        // Called for each item of a list: wipes only the depth of stack that the library's key expansion uses.
        defer { clinux_wipe_stack(expansionDepth) }
        _ = unsafe context.append(upTo: AEADKey.contextByteCount) { room in
            unsafe AEADKey.expand(key, into: room)
            return AEADKey.contextByteCount
        }
    }

    /// Opens `sealed` with the current key into `plaintext`, which must have the right size.
    public func open(
        _ sealed: UnsafeRawBufferPointer,
        authenticating associated: UnsafeRawBufferPointer,
        into plaintext: UnsafeMutableRawBufferPointer
    ) throws(AEAD.NotAuthentic) {
        guard try unsafe AEAD.plaintextByteCount(of: sealed) == plaintext.count else {
            throw AEAD.NotAuthentic()
        }
        let isAuthentic = unsafe context.withUnsafeBytes { context in
            unsafe AEADKey.open(sealed, into: plaintext, authenticating: associated, context)
        }
        guard isAuthentic else { throw AEAD.NotAuthentic() }
    }
}
