import Foundation
import LocalAuthentication
import Security
import Testing

/// Serialized: only one prompt is shown at a time.
@Suite("Rules 8 and 9: authentication inside a call", .keychain, .person, .serialized)
struct AuthenticationTests {
    let shelf = Shelf()

    init() async throws { try await TestKeychain.tellPerson(cancel: 0) }

    /// Expects a number of prompts during `body`, where prompts are counted.
    func expectPrompts(_ expected: Int, _ body: () async throws -> Void) async throws {
        let before = try await TestKeychain.prompts()
        try await body()
        guard let before, let after = try await TestKeychain.prompts() else { return }
        #expect(after - before == expected)
    }

    @Test("storing and deleting show no prompt, reading shows one per call")
    func once() async throws {
        try await expectPrompts(0) { #expect(shelf.add("ada", behind: .userPresence) == errSecSuccess) }
        try await expectPrompts(2) {
            for _ in 1...2 { #expect(shelf.read("ada").text == "ada") }
        }
        try await expectPrompts(0) { #expect(shelf.delete() == errSecSuccess) }
    }

    @Test("an authenticated context shows no further prompt in any call")
    func context() async throws {
        #expect(shelf.add("ada", behind: .userPresence) == errSecSuccess)
        let context = LAContext()
        let with: [CFString: Any] = [kSecUseAuthenticationContext: context]
        try await expectPrompts(1) {
            for _ in 1...3 { #expect(shelf.read("ada", with).text == "ada") }
            #expect(shelf.update(with, to: [kSecValueData: Data("new".utf8)]) == errSecSuccess)
            #expect(shelf.read("ada", with).text == "new")
        }
        let evaluated = LAContext()
        try await expectPrompts(1) {
            let isOwner = try await evaluated.evaluatePolicy(
                .deviceOwnerAuthentication,
                localizedReason: "test"
            )
            #expect(isOwner)
            #expect(shelf.read("ada", [kSecUseAuthenticationContext: evaluated]).text == "new")
        }
    }

    @Test("an access control can be evaluated in advance, for a later operation")
    func accessControl() async throws {
        #expect(shelf.add("ada", behind: .devicePasscode) == errSecSuccess)
        let context = LAContext()
        let control = try #require(rules(.devicePasscode))
        try await expectPrompts(1) {
            let isGranted = try await context.evaluateAccessControl(
                control,
                operation: .useItem,
                localizedReason: "test"
            )
            #expect(isGranted)
            #expect(shelf.read("ada", [kSecUseAuthenticationContext: context]).text == "ada")
        }
    }

    @Test("changing an item shows a prompt as reading it does")
    func update() async throws {
        #expect(shelf.add("ada", behind: .userPresence) == errSecSuccess)
        try await expectPrompts(1) {
            #expect(shelf.update([:], to: [kSecValueData: Data("new".utf8)]) == errSecSuccess)
        }
        try await TestKeychain.tellPerson(cancel: 1)
        #expect(shelf.update([:], to: [kSecValueData: Data("newer".utf8)]) == errSecUserCanceled)
        #expect(shelf.read("ada").text == "new")
    }

    @Test("a cancelled prompt is errSecUserCanceled")
    func cancelled() async throws {
        #expect(shelf.add("ada", behind: .userPresence) == errSecSuccess)
        try await TestKeychain.tellPerson(cancel: 1)
        let (status, text) = shelf.read("ada")
        #expect(status == errSecUserCanceled && text == nil)
        try await TestKeychain.tellPerson(cancel: 1)
        let error = await #expect(throws: LAError.self) {
            try await LAContext().evaluatePolicy(.deviceOwnerAuthentication, localizedReason: "test")
        }
        #expect(error?.code == .userCancel)
    }

    @Test("errSecInteractionNotAllowed if no prompt may be shown")
    func notAllowed() async throws {
        #expect(shelf.add("ada", behind: .userPresence) == errSecSuccess)
        try await expectPrompts(0) {
            let fail: [CFString: Any] = [kSecUseAuthenticationUI: kSecUseAuthenticationUIFail]
            #expect(shelf.read("ada", fail).status == errSecInteractionNotAllowed)
            let context = LAContext()
            context.interactionNotAllowed = true
            let silent: [CFString: Any] = [kSecUseAuthenticationContext: context]
            #expect(shelf.read("ada", silent).status == errSecInteractionNotAllowed)
            let error = await #expect(throws: LAError.self) {
                try await context.evaluatePolicy(.deviceOwnerAuthentication, localizedReason: "test")
            }
            #expect(error?.code == .notInteractive)
        }
    }

    @Test("a search that skips authentication leaves out items that need it")
    func skipped() async throws {
        #expect(shelf.add("guarded", behind: .userPresence) == errSecSuccess)
        #expect(shelf.add("free") == errSecSuccess)
        let skip: [CFString: Any] = [
            kSecUseAuthenticationUI: kSecUseAuthenticationUISkip, kSecReturnData: true,
            kSecMatchLimit: kSecMatchLimitAll, kSecReturnAttributes: true,
        ]
        try await expectPrompts(0) {
            let items = shelf.copy(skip).result as? [[String: Any]]
            #expect(items?.map { $0["acct"] as? String } == ["free"])
            let guarded = skip.merging([kSecAttrAccount: "guarded"]) { $1 }
            #expect(shelf.copy(guarded).status == errSecItemNotFound)
        }
    }

    @Test("an invalidated context gives access to nothing")
    func invalidated() async throws {
        #expect(shelf.add("ada", behind: .userPresence) == errSecSuccess)
        let context = LAContext()
        let with: [CFString: Any] = [kSecUseAuthenticationContext: context]
        #expect(shelf.read("ada", with).text == "ada")
        context.invalidate()
        #expect(shelf.read("ada", with).status == errSecAuthFailed)
        let error = await #expect(throws: LAError.self) {
            try await context.evaluatePolicy(.deviceOwnerAuthentication, localizedReason: "test")
        }
        #expect(error?.code == .invalidContext)
    }

    @Test("an application password opens its item without a prompt, and another one does not")
    func applicationPassword() async throws {
        func with(_ password: String) -> [CFString: Any] {
            let context = LAContext()
            #expect(context.setCredential(Data(password.utf8), type: .applicationPassword))
            #expect(context.isCredentialSet(.applicationPassword))
            context.interactionNotAllowed = true
            return [kSecUseAuthenticationContext: context]
        }
        try await expectPrompts(0) {
            #expect(shelf.add("ada", behind: .applicationPassword, with("sesame")) == errSecSuccess)
            #expect(shelf.read("ada", with("sesame")).text == "ada")
            #expect(shelf.read("ada", with("simsim")).text == nil)
        }
        let context = LAContext()
        #expect(context.setCredential(Data([1]), type: .applicationPassword))
        #expect(context.setCredential(nil, type: .applicationPassword))
        #expect(!context.isCredentialSet(.applicationPassword))
    }
}

@Suite("Rule 13: what a context reports without a prompt", .keychain)
struct ContextTests {
    @Test(
        "the biometry type is none before canEvaluatePolicy, and known once that succeeded"
    )
    func biometryType() {
        let context = LAContext()
        #expect(context.biometryType == .none)
        var error: NSError?
        let canUse = context.canEvaluatePolicy(.deviceOwnerAuthenticationWithBiometrics, error: &error)
        #expect(canUse == (error == nil))
        if canUse { #expect(context.biometryType != .none) }
        if let error { #expect(error.domain == LAErrorDomain && error is LAError) }
    }

    @Test("an invalidated context fails with its reason and shows no prompt")
    func invalid() async {
        let context = LAContext()
        context.invalidate()
        var error: NSError?
        #expect(!context.canEvaluatePolicy(.deviceOwnerAuthentication, error: &error))
        #expect((error as? LAError)?.code == .invalidContext)
        let reason: LAError.Code? = await withCheckedContinuation { continuation in
            context.evaluatePolicy(.deviceOwnerAuthentication, localizedReason: "test") { success, error in
                continuation.resume(returning: success ? nil : (error as? LAError)?.code)
            }
        }
        #expect(reason == .invalidContext)
    }
}
