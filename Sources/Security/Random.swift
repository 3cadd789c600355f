import SecretMemory

/// `SecRandomRef`: names a random generator; there is only the kernel's.
public typealias SecRandomRef = OpaquePointer

/// `kSecRandomDefault`: nil.
public var kSecRandomDefault: SecRandomRef? { nil }

/// `SecRandomCopyBytes`: fills `bytes` with `count` octets of the kernel's generator.
@discardableResult
public func SecRandomCopyBytes(_ rnd: SecRandomRef?, _ count: Int, _ bytes: UnsafeMutableRawPointer) -> Int32
{
    guard rnd == nil, count >= 0 else { return errSecParam }
    RandomBytes.fill(UnsafeMutableRawBufferPointer(start: bytes, count: count))
    return errSecSuccess
}
