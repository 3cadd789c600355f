import Foundation
import LocalAuthentication
import Security
import Testing

/// How an item is protected.
struct Protection: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let flags: SecAccessControlCreateFlags
    let needsUser: Bool
    let needsPassword: Bool

    var isFree: Bool { !needsUser && !needsPassword }

    static let all = [
        Protection(testDescription: "none", flags: [], needsUser: false, needsPassword: false),
        Protection(
            testDescription: "user presence",
            flags: .userPresence,
            needsUser: true,
            needsPassword: false
        ),
        Protection(
            testDescription: "passcode",
            flags: .devicePasscode,
            needsUser: true,
            needsPassword: false
        ),
        Protection(
            testDescription: "password",
            flags: .applicationPassword,
            needsUser: false,
            needsPassword: true
        ),
        Protection(
            testDescription: "password and user presence",
            flags: [.applicationPassword, .userPresence],
            needsUser: true,
            needsPassword: true
        ),
        Protection(
            testDescription: "password and passcode",
            flags: [.applicationPassword, .devicePasscode],
            needsUser: true,
            needsPassword: true
        ),
    ]
}

/// What a search may do about an item that needs more than the search has.
enum Leave: CaseIterable, Sendable {
    case fail, skip, silentContext, none

    /// The part of a query; with `password` its context has that application password.
    func query(_ password: String?) -> [CFString: Any] {
        var query: [CFString: Any] = [:]
        if self == .silentContext || password != nil {
            let context = LAContext()
            context.interactionNotAllowed = self == .silentContext
            if let password { context.setCredential(Data(password.utf8), type: .applicationPassword) }
            query[kSecUseAuthenticationContext] = context
        }
        if self == .fail { query[kSecUseAuthenticationUI] = kSecUseAuthenticationUIFail }
        if self == .skip { query[kSecUseAuthenticationUI] = kSecUseAuthenticationUISkip }
        return query
    }
}

/// In ``AuthenticationTests`` because only one prompt is shown at a time.
extension AuthenticationTests {
    private static var returns: [[CFString: Any]] {
        [
            [kSecReturnData: true], [kSecReturnAttributes: true], [kSecReturnPersistentRef: true],
            [kSecReturnData: true, kSecReturnAttributes: true, kSecMatchLimit: kSecMatchLimitAll],
        ]
    }

    @Test(
        "an item that needs a user or a password answers each search by its leave to ask",
        arguments: Protection.all,
        Leave.allCases
    )
    func leave(protection: Protection, leave: Leave) async throws {
        let context = LAContext()
        #expect(context.setCredential(Data("sesame".utf8), type: .applicationPassword))
        let with: [CFString: Any] = protection.needsPassword ? [kSecUseAuthenticationContext: context] : [:]
        #expect(shelf.add("guarded", behind: protection.flags, with) == errSecSuccess)
        #expect(shelf.add("free") == errSecSuccess)
        for password in protection.needsPassword ? [nil, "sesame"] : [nil] {
            let lacks = protection.needsUser || (protection.needsPassword && password == nil)
            for wanted in Self.returns {
                let (isList, hasData) = (wanted[kSecMatchLimit] != nil, wanted[kSecReturnData] != nil)
                let name: [CFString: Any] = isList ? [:] : [kSecAttrAccount: "guarded"]
                let asks = leave == .none && hasData
                let userPrompts = asks && protection.needsUser ? 1 : 0
                let passwordPrompts = asks && protection.needsPassword && password == nil ? 1 : 0
                try await TestKeychain.tellPerson(cancel: 0)
                if passwordPrompts > 0 {
                    try await TestKeychain.tellPerson(types: "sesame", afterPrompts: userPrompts)
                }
                try await expectPrompts(userPrompts + passwordPrompts) {
                    let parts = wanted.merging(name) { $1 }.merging(leave.query(password)) { $1 }
                    let (status, result) = shelf.copy(parts)
                    let expected: OSStatus =
                        switch leave {
                        case .skip: lacks && !isList ? errSecItemNotFound : errSecSuccess
                        case .fail, .silentContext:
                            lacks && hasData ? errSecInteractionNotAllowed : errSecSuccess
                        case .none: errSecSuccess
                        }
                    #expect(status == expected, "\(wanted), password \(password != nil)")
                    guard status == errSecSuccess else { return }
                    let accounts = (result as? [[String: Any]])?.compactMap { $0["acct"] as? String }
                    let listed: Set = leave == .skip && lacks ? ["free"] : ["free", "guarded"]
                    if isList { #expect(accounts.map { Set($0) } == listed) }
                    if !isList, hasData { #expect(result as? Data == Data("guarded".utf8)) }
                }
            }
        }
        #expect(shelf.delete() == errSecSuccess, "needs no one")
    }

    @Test(
        "an item with an application password is added and changed only with the password, which is asked for",
        arguments: Leave.allCases
    )
    func changes(leave: Leave) async throws {
        guard leave != .skip else { return }
        let (asks, add) = (leave == .none, leave.query(nil))
        let expected = asks ? errSecSuccess : errSecInteractionNotAllowed
        try await TestKeychain.tellPerson(types: "sesame")
        try await expectPrompts(asks ? 1 : 0) {
            #expect(shelf.add("ada", behind: .applicationPassword, add) == expected)
            #expect(shelf.count() == (asks ? 1 : 0))
        }
        if !asks {
            #expect(shelf.add("ada", behind: .applicationPassword, leave.query("sesame")) == errSecSuccess)
        }
        try await TestKeychain.tellPerson(types: "sesame")
        try await expectPrompts(asks ? 1 : 0) {
            let named = leave.query(nil).merging([kSecAttrAccount: "ada"]) { $1 }
            #expect(shelf.update(named, to: [kSecValueData: Data("x".utf8)]) == expected)
        }
        try await expectPrompts(0) {
            #expect(shelf.read("ada", leave.query("sesame")).text == (asks ? "x" : "ada"))
            let opened = leave.query("sesame").merging([kSecAttrAccount: "ada"]) { $1 }
            #expect(shelf.update(opened, to: [kSecValueData: Data("new".utf8)]) == errSecSuccess)
            #expect(shelf.read("ada", leave.query("sesame")).text == "new")
        }
        try await TestKeychain.tellPerson(cancel: 1)
        let cancelled = asks ? errSecUserCanceled : errSecInteractionNotAllowed
        #expect(shelf.read("ada", leave.query(nil)).status == cancelled)
        #expect(shelf.delete() == errSecSuccess, "needs no one")
    }

    @Test("a password that was typed serves its context, and a wrong one is asked for again")
    func typed() async throws {
        let context: [CFString: Any] = [kSecUseAuthenticationContext: LAContext()]
        try await TestKeychain.tellPerson(types: "sesame")
        #expect(shelf.add("ada", behind: .applicationPassword) == errSecSuccess)
        try await TestKeychain.tellPerson(types: "sesame", afterPrompts: 1)
        try await expectPrompts(2) {
            #expect(shelf.read("ada", context).text == "ada", "the passcode is another password")
        }
        try await expectPrompts(0) { #expect(shelf.read("ada", context).text == "ada") }
    }
}
