internal import SecretMemory

/// Random bytes drawn together and used once each, because a call of the kernel's generator costs as much as sealing a
/// short record.
///
/// They may become keys, so they are kept in locked memory and wiped.
public struct RandomSupply: ~Copyable {
    private let octets: SecretBytes
    private var used = 0

    /// Draws `count` bytes.
    public init(count: Int = 0) {
        octets = .random(count: count)
    }

    /// Overwrites all of `room`; draws new bytes if too few are left.
    public mutating func fill(_ room: UnsafeMutableRawBufferPointer) {
        let next = used..<(used + room.count)
        guard next.upperBound <= octets.count else { return unsafe RandomBytes.fill(room) }
        unsafe octets.withUnsafeBytes { octets in
            unsafe copySecret(UnsafeRawBufferPointer(rebasing: octets[next]), to: room)
        }
        used = next.upperBound
    }
}
