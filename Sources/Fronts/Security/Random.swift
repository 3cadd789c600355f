public import CoreFoundation
import Foundation
import SecretMemory

/// `SecRandomRef`: a random number generator; there is only the kernel's.
public typealias SecRandomRef = OpaquePointer

/// `kSecRandomDefault`: nil.
public var kSecRandomDefault: SecRandomRef? { nil }

/// `SecRandomCopyBytes`: fills `bytes` with `count` bytes from the kernel's generator.
@discardableResult
public func SecRandomCopyBytes(_ rnd: SecRandomRef?, _ count: Int, _ bytes: UnsafeMutableRawPointer) -> Int32
{
    guard rnd == nil, count >= 0 else { return errSecParam }
    RandomBytes.fill(UnsafeMutableRawBufferPointer(start: bytes, count: count))
    return errSecSuccess
}

/// `SecCreateSharedWebCredentialPassword`: a new password of four groups of three characters, with at least one
/// upper-case letter, one lower-case letter and one digit; it contains no characters that look alike.
public func SecCreateSharedWebCredentialPassword() -> CFString? {
    let kinds = ["ABCDEFGHJKLMNPQRSTUVWXYZ", "abcdefghijkmnopqrstuvwxyz", "23456789"].map(Array.init)
    let characters = kinds.flatMap(\.self)
    var generator = SystemRandomNumberGenerator()
    while true {
        let password = (0..<12).map { _ in characters[Int.random(in: characters.indices, using: &generator)] }
        guard kinds.allSatisfy({ kind in password.contains(where: kind.contains) }) else { continue }
        let groups = stride(from: 0, to: 12, by: 3).map { String(password[$0..<($0 + 3)]) }
        return groups.joined(separator: "-") as NSString
    }
}
