internal import CLinux
internal import SecretMemory

/// A place for keys that open one thing each, one after the other, as a list's items do.
///
/// The key at hand and its round keys lie in locked memory, which is wiped before the next ones come.
public final class AEADKeyPlace {
    private static let expansionDepth = 2 * 1024

    private var key = SecretBuffer(minimumCapacity: Key.byteCount)
    private var context = SecretBuffer(minimumCapacity: AEADKey.contextByteCount)

    /// An empty place.
    public init() {}

    /// Opens a sealed key into this place.
    public func take(
        _ sealed: UnsafeRawBufferPointer,
        with wrapping: AEADKey,
        authenticating associated: UnsafeRawBufferPointer
    ) throws(AEAD.NotAuthentic) {
        key.removeAll(keepingCapacity: true)
        _ = try unsafe key.append(upTo: Key.byteCount) { (room) throws(AEAD.NotAuthentic) in
            try unsafe AEAD.open(sealed, with: wrapping, authenticating: associated, into: room)
            return Key.byteCount
        }
        unsafe key.withUnsafeBytes { unsafe expand($0) }
    }

    /// Wipes the key at hand.
    public func clear() {
        key.removeAll(keepingCapacity: true)
        context.removeAll(keepingCapacity: true)
    }

    /// Copies a key into this place.
    public func take(_ key: Key) {
        unsafe key.withUnsafeBytes { unsafe expand($0) }
    }

    private func expand(_ key: UnsafeRawBufferPointer) {
        context.removeAll(keepingCapacity: true)
        // A list makes one for each item: only as deep as the library's expansion goes.
        defer { clinux_wipe_stack(Self.expansionDepth) }
        _ = unsafe context.append(upTo: AEADKey.contextByteCount) { room in
            unsafe AEADKey.expand(key, into: room)
            return AEADKey.contextByteCount
        }
    }

    /// Opens `sealed` with the key at hand into `plaintext`, which has room for all of it.
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
