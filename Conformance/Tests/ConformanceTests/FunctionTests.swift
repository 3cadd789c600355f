import Foundation
import Security
import Testing

@Suite("Other functions of Security")
struct FunctionTests {
    @Test("random bytes fill the buffer and differ between calls")
    func random() {
        var (one, two) = ([UInt8](repeating: 0, count: 32), [UInt8](repeating: 0, count: 32))
        #expect(SecRandomCopyBytes(kSecRandomDefault, one.count, &one) == errSecSuccess)
        #expect(SecRandomCopyBytes(kSecRandomDefault, two.count, &two) == errSecSuccess)
        #expect(one != two && one != [UInt8](repeating: 0, count: 32))
        var part = [UInt8](repeating: 7, count: 4)
        #expect(SecRandomCopyBytes(kSecRandomDefault, 2, &part) == errSecSuccess)
        #expect(part[2...] == [7, 7])
        #expect(SecRandomCopyBytes(kSecRandomDefault, 0, &part) == errSecSuccess)
    }

    @Test("every status has a message", arguments: Answer.allCases.map(\.status))
    func text(status: OSStatus) throws {
        let text = try #require(SecCopyErrorMessageString(status, nil) as String?)
        #expect(!text.isEmpty && text != "OSStatus \(status)")
    }
}
