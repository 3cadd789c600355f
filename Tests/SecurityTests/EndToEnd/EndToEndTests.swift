import LocalAuthentication
import Testing

@Suite(
    "SecItem functions with a real daemon",
    .enabled(if: RunningKeychain.isBuilt, "touchstoned is not built")
)
struct EndToEndTests {
    private static func query(_ more: [CFString: Any] = [:]) -> CFDictionary {
        let base: [CFString: Any] = [
            kSecClass: kSecClassGenericPassword, kSecAttrService: "mail", kSecAttrAccount: "ada",
        ]
        return base.merging(more) { $1 } as CFDictionary
    }

    private static func add(_ flags: SecAccessControlCreateFlags, _ more: [CFString: Any] = [:]) throws
        -> OSStatus
    {
        let rules = try #require(
            SecAccessControlCreateWithFlags(nil, kSecAttrAccessibleWhenUnlocked, flags, nil)
        )
        let secret: [CFString: Any] = [kSecAttrAccessControl: rules, kSecValueData: Data("secret".utf8)]
        return SecItemAdd(query(secret.merging(more) { $1 }), nil)
    }

    private static func read(_ more: [CFString: Any] = [:]) -> (status: OSStatus, data: Data?) {
        var result: CFTypeRef?
        let status = SecItemCopyMatching(query([kSecReturnData: true].merging(more) { $1 }), &result)
        return (status, result as? Data)
    }

    @Test("a password is stored, found, updated and deleted without a prompt")
    func lifeOfAPassword() async throws {
        let running = try await RunningKeychain()
        try running.use {
            #expect(Self.read().status == errSecItemNotFound)
            var reference: CFTypeRef?
            let item: [CFString: Any] = [
                kSecValueData: Data("secret".utf8), kSecAttrLabel: "Mail", kSecAttrGeneric: Data([1, 2]),
                kSecReturnPersistentRef: true,
            ]
            #expect(SecItemAdd(Self.query(item), &reference) == errSecSuccess)
            #expect(SecItemAdd(Self.query(item), &reference) == errSecDuplicateItem)
            #expect(Self.read().data == Data("secret".utf8))
            var result: CFTypeRef?
            let byReference: [CFString: Any] = [
                kSecValuePersistentRef: try #require(reference as? Data), kSecReturnAttributes: true,
                kSecReturnData: true,
            ]
            #expect(SecItemCopyMatching(byReference as CFDictionary, &result) == errSecSuccess)
            let attributes = try #require(result as? [CFString: Any])
            #expect(attributes[kSecAttrAccount] as? String == "ada")
            #expect(attributes[kSecAttrLabel] as? String == "Mail")
            #expect(attributes[kSecAttrGeneric] as? Data == Data([1, 2]))
            #expect(attributes[kSecValueData] as? Data == Data("secret".utf8))
            #expect(attributes[kSecAttrAccessible] as? String == kSecAttrAccessibleWhenUnlocked as String)
            #expect(attributes[kSecAttrCreationDate] is Date)
            #expect(attributes[kSecAttrAccessControl] is SecAccessControl)
            let changes = [kSecValueData: Data("other".utf8), kSecAttrLabel: "Post"] as [CFString: Any]
            #expect(SecItemUpdate(Self.query(), changes as CFDictionary) == errSecSuccess)
            #expect(Self.read([kSecAttrLabel: "Post"]).data == Data("other".utf8))
            #expect(Self.read([kSecAttrLabel: "Mail"]).status == errSecItemNotFound)
            #expect(SecItemDelete(Self.query()) == errSecSuccess)
            #expect(SecItemDelete(Self.query()) == errSecItemNotFound)
        }
        #expect(running.prompts == 0)
    }

    @Test("SecItemDelete with kSecMatchLimitAll deletes all matches")
    func deletionOfAll() async throws {
        let running = try await RunningKeychain()
        running.use {
            for account in ["ada", "grace"] {
                #expect(SecItemAdd(Self.query([kSecAttrAccount: account]), nil) == errSecSuccess)
            }
            let all: [CFString: Any] = [
                kSecClass: kSecClassGenericPassword, kSecAttrService: "mail",
                kSecAttrSynchronizable: kSecAttrSynchronizableAny, kSecMatchLimit: kSecMatchLimitAll,
            ]
            #expect(SecItemDelete(all as CFDictionary) == errSecSuccess)
            #expect(SecItemDelete(all as CFDictionary) == errSecItemNotFound)
        }
    }

    @Test("all matches are returned as an array, with the requested keys")
    func all() async throws {
        let running = try await RunningKeychain()
        try running.use {
            for account in ["ada", "grace", "joan"] {
                let item: [CFString: Any] = [kSecAttrAccount: account, kSecValueData: Data(account.utf8)]
                #expect(SecItemAdd(Self.query(item), nil) == errSecSuccess)
            }
            var result: CFTypeRef?
            let base: [CFString: Any] = [
                kSecClass: kSecClassGenericPassword, kSecAttrService: "mail",
                kSecMatchLimit: kSecMatchLimitAll,
            ]
            let wanted = base.merging([kSecReturnAttributes: true, kSecReturnData: true]) { $1 }
            #expect(SecItemCopyMatching(wanted as CFDictionary, &result) == errSecSuccess)
            let items = try #require(result as? [[String: Any]])
            #expect(
                Set(items.compactMap { $0[kSecAttrAccount as String] as? String }) == [
                    "ada", "grace", "joan",
                ]
            )
            let two = base.merging([kSecMatchLimit: 2, kSecReturnData: true]) { $1 }
            #expect(SecItemCopyMatching(two as CFDictionary, &result) == errSecSuccess)
            #expect((result as? [Data])?.count == 2)
        }
    }

    @Test("an item with user presence prompts, and a cancellation is reported")
    func userPresence() async throws {
        let running = try await RunningKeychain()
        try running.use {
            try #expect(Self.add(.userPresence) == errSecSuccess)
            #expect(running.prompts == 0)
            #expect(Self.read().data == Data("secret".utf8))
            #expect(running.prompts == 1)
            try running.setCancels(true)
            #expect(Self.read().status == errSecUserCanceled)
            let cause = TouchstoneCopyLastError()?.userInfo[NSUnderlyingErrorKey] as? NSError
            #expect((cause as? LAError)?.code == .userCancel)
            #expect(
                Self.read([kSecUseAuthenticationUI: kSecUseAuthenticationUIFail]).status
                    == errSecInteractionNotAllowed
            )
            #expect(
                Self.read([kSecUseAuthenticationUI: kSecUseAuthenticationUISkip]).status == errSecItemNotFound
            )
            #expect(running.prompts == 2)
            #expect(SecItemDelete(Self.query()) == errSecSuccess, "deleting asks nobody")
        }
    }

    @Test("the three rules of kSecUseAuthenticationContext hold, as the number of prompts shows")
    func contexts() async throws {
        let running = try await RunningKeychain()
        try running.use { try #expect(Self.add(.userPresence) == errSecSuccess) }
        // Without a context each call gets a new one.
        running.use {
            #expect(Self.read().status == errSecSuccess)
            #expect(Self.read().status == errSecSuccess)
        }
        #expect(running.prompts == 2)
        // A context that is not authenticated prompts, and can be reused.
        running.use {
            let context = LAContext()
            #expect(Self.read([kSecUseAuthenticationContext: context]).status == errSecSuccess)
            #expect(Self.read([kSecUseAuthenticationContext: context]).status == errSecSuccess)
        }
        #expect(running.prompts == 3)
        // An authenticated context does not prompt.
        let context = running.use { LAContext() }
        #expect(
            try await context.evaluatePolicy(.deviceOwnerAuthentication, localizedReason: "open the safe")
        )
        #expect(running.prompts == 4)
        running.use { #expect(Self.read([kSecUseAuthenticationContext: context]).status == errSecSuccess) }
        #expect(running.prompts == 4)
        context.invalidate()
        running.use { #expect(Self.read([kSecUseAuthenticationContext: context]).status == errSecAuthFailed) }
        #expect(running.prompts == 4)
    }

    @Test("a host matches with its subdomains, and text matches case-insensitively")
    func looseMatches() async throws {
        let running = try await RunningKeychain()
        running.use {
            for server in ["example.org", "Mail.Example.org", "notexample.org", "example.org.evil"] {
                let item: [CFString: Any] = [
                    kSecClass: kSecClassInternetPassword, kSecAttrServer: server, kSecAttrAccount: "Ada",
                    kSecValueData: Data(server.utf8),
                ]
                #expect(SecItemAdd(item as CFDictionary, nil) == errSecSuccess)
            }
            func find(_ more: [CFString: Any]) -> Set<Data>? {
                var result: CFTypeRef?
                let query: [CFString: Any] = [
                    kSecClass: kSecClassInternetPassword, kSecReturnData: true,
                    kSecMatchLimit: kSecMatchLimitAll,
                ]
                let status = SecItemCopyMatching(query.merging(more) { $1 } as CFDictionary, &result)
                return status == errSecSuccess ? (result as? [Data]).map { Set($0) } : nil
            }
            let both = Set(["example.org", "Mail.Example.org"].map { Data($0.utf8) })
            #expect(find([kSecMatchHostOrSubdomainOfHost: "example.org"]) == both)
            #expect(find([kSecMatchHostOrSubdomainOfHost: "EXAMPLE.org", kSecAttrAccount: "Ada"]) == both)
            #expect(find([kSecMatchHostOrSubdomainOfHost: "example.org", kSecAttrAccount: "ada"]) == nil)
            #expect(find([kSecMatchHostOrSubdomainOfHost: "org"])?.count == 3)
            #expect(find([kSecAttrServer: "mail.example.ORG"]) == nil)
            #expect(find([kSecAttrServer: "mail.example.ORG", kSecMatchCaseInsensitive: true])?.count == 1)
            #expect(find([kSecAttrAccount: "ADA", kSecMatchCaseInsensitive: true])?.count == 4)
            #expect(find([kSecAttrAccount: "ADA", kSecMatchCaseInsensitive: false]) == nil)
        }
    }

    @Test("policies that cannot be evaluated and cancellations are reported")
    func policies() async throws {
        let running = try await RunningKeychain()
        let context = running.use { LAContext() }
        var error: NSError?
        #expect(!context.canEvaluatePolicy(.deviceOwnerAuthenticationWithBiometrics, error: &error))
        #expect((error as? LAError)?.code == .biometryNotAvailable)
        #expect(context.biometryType == .none)
        #expect(!context.canEvaluatePolicy(.deviceOwnerAuthenticationWithCompanion, error: &error))
        #expect((error as? LAError)?.code == .companionNotAvailable)
        #expect(context.canEvaluatePolicy(.deviceOwnerAuthentication, error: nil))
        try running.setCancels(true)
        do {
            _ = try await context.evaluatePolicy(.deviceOwnerAuthentication, localizedReason: "open the safe")
            Issue.record("succeeded without the user")
        } catch LAError.userCancel {
            #expect(running.prompts == 1)
        }
        let silent = running.use { LAContext() }
        silent.interactionNotAllowed = true
        do {
            _ = try await silent.evaluatePolicy(.deviceOwnerAuthentication, localizedReason: "open the safe")
            Issue.record("succeeded without the user")
        } catch LAError.notInteractive {
            #expect(running.prompts == 1)
        }
    }

    @Test("an item with an application password opens only with that password")
    func applicationPassword() async throws {
        let running = try await RunningKeychain()
        try running.use {
            let context = LAContext()
            #expect(context.setCredential(Data("sesame".utf8), type: .applicationPassword))
            try #expect(
                Self.add(.applicationPassword, [kSecUseAuthenticationContext: context]) == errSecSuccess
            )
            #expect(Self.read([kSecUseAuthenticationContext: context]).data == Data("secret".utf8))
            let other = LAContext()
            #expect(other.setCredential(Data("simsim".utf8), type: .applicationPassword))
            #expect(Self.read([kSecUseAuthenticationContext: other]).status != errSecSuccess)
            #expect(running.prompts == 0)
            #expect(Self.read().status == errSecAuthFailed, "the user types the passcode, which it is not")
            #expect(running.prompts == 3)
        }
    }

    @Test(
        "an item that requires the passcode prompts for it; its access control can be evaluated before"
    )
    func devicePasscode() async throws {
        let running = try await RunningKeychain()
        try running.use {
            try #expect(Self.add(.devicePasscode) == errSecSuccess)
            #expect(Self.read().data == Data("secret".utf8))
            #expect(running.prompts == 1)
        }
        let context = running.use { LAContext() }
        let rules = try #require(
            SecAccessControlCreateWithFlags(nil, kSecAttrAccessibleWhenUnlocked, .devicePasscode, nil)
        )
        #expect(
            try await context.evaluateAccessControl(
                rules,
                operation: .useItem,
                localizedReason: "open the safe"
            )
        )
        running.use {
            #expect(Self.read([kSecUseAuthenticationContext: context]).data == Data("secret".utf8))
        }
        #expect(running.prompts == 2)
    }
}
