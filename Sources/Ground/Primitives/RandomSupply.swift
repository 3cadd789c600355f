internal import SecretMemory

/// Random bytes that are drawn together and handed out once each: a call of the kernel's generator costs as much as
/// sealing what is short.
///
/// They may become keys, so they lie in memory that is locked and wiped.
public struct RandomSupply: ~Copyable {
    private let octets: SecretBytes
    private var used = 0

    /// Draws `count` bytes.
    public init(count: Int = 0) {
        octets = .random(count: count)
    }

    /// Overwrites all of `room`, with fresh bytes where too few are left.
    public mutating func fill(_ room: UnsafeMutableRawBufferPointer) {
        let next = used..<(used + room.count)
        guard next.upperBound <= octets.count else { return unsafe RandomBytes.fill(room) }
        unsafe octets.withUnsafeBytes { octets in
            unsafe copySecret(UnsafeRawBufferPointer(rebasing: octets[next]), to: room)
        }
        used = next.upperBound
    }
}
