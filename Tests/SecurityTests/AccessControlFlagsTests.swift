import Foundation
import Security
import Testing

@Suite("SecAccessControlCreateWithFlags")
struct AccessControlFlagsTests {
    private static let flags: [SecAccessControlCreateFlags] = [
        .userPresence, .biometryAny, .biometryCurrentSet, .devicePasscode, .companion, .or, .and,
        .privateKeyUsage,
        .applicationPassword,
    ]

    @Test(
        "of the 512 flag combinations exactly those that Apple's rules allow are accepted"
    )
    func combinations() {
        for bits in 0..<512 {
            let chosen = Self.flags.indices.filter { bits >> $0 & 1 == 1 }
            let flags = SecAccessControlCreateFlags(chosen.map { Self.flags[$0] })
            let names = Set(chosen)
            // Apple's rules, by the indices above.
            let both = names.contains(5) && names.contains(6)
            let twoBiometries = names.contains(1) && names.contains(2)
            let presenceWithMore = names.contains(0) && !names.subtracting([0, 7, 8]).isEmpty
            let isAllowed = !both && !twoBiometries && !presenceWithMore
            var error: Unmanaged<CFError>?
            let made = SecAccessControlCreateWithFlags(
                kCFAllocatorDefault,
                kSecAttrAccessibleWhenUnlocked,
                flags,
                &error
            )
            #expect((made != nil) == isAllowed, "\(names.sorted())")
            let failure = error?.takeRetainedValue()
            #expect((failure == nil) == isAllowed)
            #expect(isAllowed || failure.map { CFErrorGetCode($0) } == Int(errSecParam))
        }
    }

    @Test("an unknown protection class and unknown flags are refused")
    func unknown() throws {
        for protection in ["zz" as Any, 7, NSNull(), Data()] {
            var error: Unmanaged<CFError>?
            #expect(SecAccessControlCreateWithFlags(nil, protection, [], &error) == nil)
            let failure = try #require(error).takeRetainedValue()
            #expect(failure.domain == NSOSStatusErrorDomain)
            #expect(failure.code == -50)
        }
        // The second one is a flag of our own, which Apple does not have.
        for unknown in [1 << 9, 1 << 48] as [CFOptionFlags] {
            let flags = SecAccessControlCreateFlags(rawValue: unknown).union(.biometryAny)
            #expect(SecAccessControlCreateWithFlags(nil, kSecAttrAccessibleAlways, flags, nil) == nil)
        }
    }

    @Test("access control objects have equality, a hash, a description and a type ID")
    func object() throws {
        let make = { (flags: SecAccessControlCreateFlags) in
            SecAccessControlCreateWithFlags(nil, kSecAttrAccessibleWhenUnlocked, flags, nil)
        }
        let one = try #require(make([.biometryAny, .or, .devicePasscode]))
        let same = try #require(make([.biometryAny, .or, .devicePasscode]))
        let other = try #require(make(.biometryAny))
        #expect(one == same)
        #expect(one != other)
        #expect(one.hash == same.hash)
        #expect(CFEqual(one, same))
        #expect(CFGetTypeID(one) == SecAccessControlGetTypeID())
        #expect(CFGetTypeID(one as CFTypeRef?) == SecAccessControlGetTypeID())
        #expect(one.description == "<SecAccessControlRef: whenUnlocked, biometryAny or devicePasscode>")
    }

    @Test("the flags have Apple's raw values")
    func bits() {
        #expect(Self.flags.map(\.rawValue) == [1, 2, 8, 16, 32, 1 << 14, 1 << 15, 1 << 30, 1 << 31])
        #expect(SecAccessControlCreateFlags.touchIDAny == .biometryAny)
        #expect(SecAccessControlCreateFlags.touchIDCurrentSet == .biometryCurrentSet)
        #expect(SecAccessControlCreateFlags.watch == .companion)
    }
}
