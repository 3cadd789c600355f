import CBOR
import KeychainModel
import SecretMemory
import Testing

@Suite("Item calls")
struct ItemCallTests {
    private static let locked = KeychainError(.interactionNotAllowed, cause: .locked, remedy: .unlock)
    private static let presence = try? AccessControl(accessibility: .whenUnlocked, flags: .userPresence)
    private static let fingers = try? AccessControl(accessibility: .whenUnlocked, flags: .biometryCurrentSet)

    /// A vault whose first answer is that it is locked.
    private static func lockedOnce() -> ScriptedVault {
        ScriptedVault { calls throws(KeychainError) in
            if calls.count == 1 { throw locked }
            return .page([[1]], next: nil)
        }
    }

    /// A vault that requires what an access control says.
    private static func guarded(by control: AccessControl?) -> ScriptedVault {
        ScriptedVault { calls throws(KeychainError) in
            guard let control, case .copy(_, _, let authorization, _) = calls.last else {
                throw KeychainError(.internalComponent)
            }
            if control.decide(given: authorization.proofs, operation: .useItem) == .granted {
                return .page([[42]], next: nil)
            }
            return .needs([control])
        }
    }

    private static func newItem() -> AddItem {
        AddItem(
            itemClass: .genericPassword,
            attributes: [.account: .string("somebody")],
            accessControl: AccessControl(accessibility: .whenUnlocked),
            data: SecretBytes(copying: [9, 8, 7]),
            prompt: PromptFields()
        )
    }

    @Test("a locked keybag is unlocked once, and the call is repeated")
    func unlockAndRetry() async throws {
        let server = try TestServer(vault: Self.lockedOnce())
        let client = try await server.greetedClient()
        #expect(try await client.call(.copyItems, CopyItems.passwords()).status == .success)
        #expect(server.authenticator.unlockCount == 1)
        guard case .copy(_, _, let authorization, _) = server.vault.calls.last else { return }
        // The passcode that unlocked also counts for the call.
        #expect(authorization.proofs.first?.factors == [.passcode])
    }

    @Test("the enrolled set is observed before an item is bound to it, and for no other item")
    func currentSet() async throws {
        let vault = ScriptedVault { calls throws(KeychainError) in .page([[1]], next: nil) }
        let server = try TestServer(vault: vault)
        let client = try await server.greetedClient()
        #expect(try await client.call(.addItem, Self.newItem()).status == .success)
        #expect(server.authenticator.observationCount == 0)
        let bound = try #require(Self.fingers)
        func add() async throws -> Status {
            let item = AddItem(
                itemClass: .genericPassword,
                attributes: [.account: .string("bound")],
                accessControl: bound,
                data: SecretBytes(copying: [1]),
                prompt: PromptFields()
            )
            return try await client.call(.addItem, item).status
        }
        #expect(try await add() == .success)
        #expect(server.authenticator.observationCount == 1)
        let count = server.vault.calls.count
        server.authenticator.observes(
            .failure(KeychainError(AuthenticationError(.biometryNotEnrolled, remedy: .enrolFinger)))
        )
        #expect(try await add() == .authFailed)
        #expect(server.vault.calls.count == count)
    }

    @Test("a new item is complete after the keybag was unlocked for it")
    func addAfterUnlock() async throws {
        let server = try TestServer(vault: Self.lockedOnce())
        let client = try await server.greetedClient()
        #expect(try await client.call(.addItem, Self.newItem()).status == .success)
        guard case .add(let attributes, _, let data) = server.vault.calls.last else { return }
        #expect(data == [9, 8, 7])
        #expect(attributes == [.account: .string("somebody")])
    }

    @Test("without permission to prompt, a locked keybag stays locked")
    func notInteractive() async throws {
        let server = try TestServer(vault: ScriptedVault { _ throws(KeychainError) in throw Self.locked })
        let client = try await server.greetedClient()
        let reply = try await client.call(.copyItems, CopyItems.passwords(interactionAllowed: false))
        #expect(reply.status == .interactionNotAllowed)
        #expect(reply.error?.cause == .locked)
        var query = ItemQuery.passwords()
        query.authenticationUI = .fail
        let other = try await client.call(.copyItems, CopyItems(query: query, prompt: PromptFields()))
        #expect(other.status == .interactionNotAllowed)
        #expect(server.authenticator.unlockCount == 0)
    }

    @Test("before set-up the error has a remedy")
    func notSetUp() async throws {
        let authenticator = ScriptedAuthenticator(onUnlock: { () throws(AuthenticationError) in
            throw AuthenticationError(.passcodeNotSet, remedy: .setPasscode)
        })
        let vault = ScriptedVault { _ throws(KeychainError) in throw Self.locked }
        let server = try TestServer(authenticator: authenticator, vault: vault)
        let client = try await server.greetedClient()
        let reply = try await client.call(.copyItems, CopyItems.passwords())
        #expect(reply.status == .notAvailable)
        #expect(reply.error?.cause == .notSetUp)
        #expect(reply.error?.remedy == .setPasscode)
        let item = AddItem(
            itemClass: .genericPassword,
            attributes: [:],
            accessControl: AccessControl(accessibility: .whenPasscodeSetThisDeviceOnly),
            data: nil,
            prompt: PromptFields()
        )
        #expect(try await client.call(.addItem, item).status == .authFailed)
    }

    @Test("cancelling the unlock prompt cancels the call")
    func cancelledUnlock() async throws {
        let authenticator = ScriptedAuthenticator(onUnlock: { () throws(AuthenticationError) in
            throw AuthenticationError(.userCancel)
        })
        let server = try TestServer(authenticator: authenticator, vault: Self.lockedOnce())
        let client = try await server.greetedClient()
        #expect(try await client.call(.copyItems, CopyItems.passwords()).status == .userCanceled)
    }

    @Test("an item with constraints is released after one prompt")
    func prompted() async throws {
        let server = try TestServer(vault: Self.guarded(by: Self.presence))
        let client = try await server.greetedClient()
        let reply = try await client.call(.copyItems, CopyItems.passwords())
        #expect(reply.body == .array([.map([CBORPair(.unsigned(3), .bytes([42]))])]))
        #expect(server.authenticator.evaluations.count == 1)
    }

    @Test(
        "an item invalidated by an enrolment change is not found, also if the evaluation detects the change"
    )
    func changedFingers() async throws {
        let changed = Flag()
        let authenticator = ScriptedAuthenticator { _ throws(AuthenticationError) in
            changed.raise()
            throw AuthenticationError(.biometryLockout, cause: .enrolmentChanged, remedy: .usePasscode)
        }
        let control = Self.fingers
        let vault = ScriptedVault { calls throws(KeychainError) in
            guard let control, case .copy(let query, _, _, _) = calls.last else {
                throw KeychainError(.internalComponent)
            }
            // An item with biometryAny still exists.
            guard changed.isRaised, query.limit == .one else { return .needs([control]) }
            throw KeychainError(.itemNotFound, cause: .invalidated)
        }
        let server = try TestServer(authenticator: authenticator, vault: vault)
        let client = try await server.greetedClient()
        let gone = try await client.call(.copyItems, CopyItems.passwords())
        #expect(gone.status == .itemNotFound)
        #expect(gone.error?.cause == .invalidated)
        #expect(server.authenticator.evaluations.count == 1)
        let left = try await client.call(.copyItems, CopyItems.passwords(limit: .all))
        #expect(left.status == .authFailed)
        #expect(left.error?.cause == .enrolmentChanged)
        #expect(server.authenticator.evaluations.count == 3)
    }

    @Test("without a context each call prompts; with one, the first authentication is reused")
    func contexts() async throws {
        let server = try TestServer(vault: Self.guarded(by: Self.presence))
        let client = try await server.greetedClient()
        for _ in 0..<2 { _ = try await client.call(.copyItems, CopyItems.passwords()) }
        #expect(server.authenticator.evaluations.count == 2)
        for _ in 0..<3 { _ = try await client.call(.copyItems, CopyItems.passwords(context: 4)) }
        #expect(server.authenticator.evaluations.count == 3)
        let names = Set(server.authenticator.evaluations.map(\.context))
        #expect(names.count == 3)
    }

    @Test("an evaluated context needs no further prompt")
    func evaluatedContext() async throws {
        let server = try TestServer(vault: Self.guarded(by: Self.presence))
        let client = try await server.greetedClient()
        _ = try await client.call(.evaluatePolicy, EvaluatePolicy.policy(2, context: 4))
        let reply = try await client.call(
            .copyItems,
            CopyItems.passwords(context: 4, interactionAllowed: false)
        )
        #expect(reply.status == .success)
        #expect(server.authenticator.evaluations.count == 1)
    }

    @Test("an authentication on one connection does not count on another, whatever context number it names")
    func foreignContext() async throws {
        let server = try TestServer(vault: Self.guarded(by: Self.presence))
        let client = try await server.greetedClient()
        _ = try await client.call(.evaluatePolicy, EvaluatePolicy.policy(2, context: 4))
        let thief = try await server.greetedClient()
        let reply = try await thief.call(
            .copyItems,
            CopyItems.passwords(context: 4, interactionAllowed: false)
        )
        #expect(reply.status == .interactionNotAllowed)
    }

    @Test("an authentication for a weaker access control does not open a stricter one")
    func stricter() async throws {
        let server = try TestServer(vault: Self.guarded(by: Self.fingers))
        let client = try await server.greetedClient()
        let weak = EvaluateAccessControl(
            accessControl: try #require(Self.presence),
            operation: Int64(AccessOperation.useItem.rawValue),
            context: 4,
            reuseSeconds: 0,
            prompt: PromptFields(reason: "to test")
        )
        #expect(try await client.call(.evaluateAccessControl, weak).status == .success)
        let refused = try await client.call(
            .copyItems,
            CopyItems.passwords(context: 4, interactionAllowed: false)
        )
        #expect(refused.status == .interactionNotAllowed)
        #expect(try await client.call(.copyItems, CopyItems.passwords(context: 4)).status == .success)
        #expect(server.authenticator.evaluations.count == 2)
    }

    @Test("a lock invalidates earlier authentications")
    func lockForgets() async throws {
        let server = try TestServer(vault: Self.guarded(by: Self.presence))
        let client = try await server.greetedClient()
        _ = try await client.call(.evaluatePolicy, EvaluatePolicy.policy(2, context: 4))
        _ = try await client.call(.lock, EmptyBody())
        let reply = try await client.call(
            .copyItems,
            CopyItems.passwords(context: 4, interactionAllowed: false)
        )
        #expect(reply.status == .interactionNotAllowed)
    }

    @Test("a call prompts at most 20 times if the vault never accepts")
    func rounds() async throws {
        let controls = Guarded<UInt64>(0)
        let vault = ScriptedVault { _ throws(KeychainError) in
            // Each round requires another control, so that each one prompts.
            let index = controls.withLock { count in
                count += 1
                return count
            }
            let accessibility = Accessibility.allCases[Int(index) % Accessibility.allCases.count]
            let flags: AccessControlFlags = index % 2 == 0 ? .biometryAny : .devicePasscode
            return .needs([try AccessControl(accessibility: accessibility, flags: flags)])
        }
        // The authentication never satisfies the requirement.
        let authenticator = ScriptedAuthenticator { _ throws(AuthenticationError) in [] }
        let server = try TestServer(authenticator: authenticator, vault: vault)
        let client = try await server.greetedClient()
        #expect(try await client.call(.copyItems, CopyItems.passwords()).status == .authFailed)
        #expect(server.authenticator.evaluations.count == 20)
    }

    @Test("a call ends if the authentication does not satisfy the vault")
    func nothingToAsk() async throws {
        let presence = try #require(Self.presence)
        let server = try TestServer(vault: ScriptedVault { _ throws(KeychainError) in .needs([presence]) })
        let client = try await server.greetedClient()
        #expect(try await client.call(.copyItems, CopyItems.passwords()).status == .authFailed)
        #expect(server.authenticator.evaluations.count == 1)
    }

    @Test("one prompt suffices for several items with the same access control")
    func sameDemand() async throws {
        let presence = try #require(Self.presence)
        let vault = ScriptedVault { calls throws(KeychainError) in
            calls.count == 1 ? .needs([presence, presence]) : .page([[1], [2]], next: nil)
        }
        let server = try TestServer(vault: vault)
        let client = try await server.greetedClient()
        #expect(try await client.call(.copyItems, CopyItems.passwords(limit: .all)).status == .success)
        #expect(server.authenticator.evaluations.count == 1)
    }

    @Test("a new secret is kept during the prompts before it is stored")
    func update() async throws {
        let presence = try #require(Self.presence)
        let vault = ScriptedVault { calls throws(KeychainError) in
            calls.count < 3 ? .needs([presence]) : .count(2)
        }
        let authenticator = ScriptedAuthenticator { _ throws(AuthenticationError) in [] }
        let server = try TestServer(authenticator: authenticator, vault: vault)
        let client = try await server.greetedClient()
        let body = UpdateItems(
            query: .passwords(),
            attributes: [:],
            accessControl: nil,
            data: SecretBytes(copying: [5, 5]),
            prompt: PromptFields()
        )
        let reply = try await client.call(.updateItems, body)
        #expect(reply.body == .unsigned(2))
        for call in server.vault.calls {
            guard case .update(_, _, _, let data) = call else { continue }
            #expect(data == [5, 5])
        }
    }

    @Test("a change is reported after the hardware has followed it")
    func hardware() async throws {
        let server = try TestServer(
            vault: ScriptedVault { calls throws(KeychainError) in
                calls.count == 1 ? .count(1) : .unsettled(2)
            }
        )
        let client = try await server.greetedClient()
        for (count, settled) in [(1, 0), (2, 1)] as [(UInt64, Int)] {
            let reply = try await client.call(
                .deleteItems,
                DeleteItems(query: .passwords(limit: .all), prompt: PromptFields(interactionAllowed: false))
            )
            #expect(reply.body == .unsigned(count))
            #expect(server.vault.settled == settled)
        }
    }

    @Test("the key of an application password is derived once for a request with a prompt and several pages")
    func derivedKey() async throws {
        let presence = try #require(Self.presence)
        let keys = Guarded<[Bool]>([])
        let server = try TestServer(
            vault: ScriptedVault { calls throws(KeychainError) in
                guard case .copy(_, _, let authorization, let cursor) = calls.last else {
                    throw KeychainError(.param)
                }
                let key = authorization.passwordKey
                keys.withLock { $0.append(key != nil) }
                if key == nil { return .needsKey }
                if authorization.proofs.isEmpty { return .needs([presence]) }
                return .page([[7]], next: cursor == nil ? ItemCursor(row: 1, returned: 1) : nil)
            }
        )
        let client = try await server.greetedClient()
        let set = SetCredential(context: 3, password: SecretBytes(copying: [1]))
        _ = try await client.call(.setCredential, set)
        try await client.request(.copyItems, CopyItems.passwords(context: 3, limit: .all))
        #expect(try await client.reply().head.more)
        #expect(try await client.reply().head.more == false)
        #expect(keys.withLock { $0 } == [false, true, true, true])
        #expect(server.vault.derived == 1)
    }

    @Test("a missing item is reported with its cause, and not logged")
    func missing() async throws {
        let vault = ScriptedVault { _ throws(KeychainError) in
            throw KeychainError(.itemNotFound, cause: .invalidated)
        }
        let server = try TestServer(vault: vault)
        let client = try await server.greetedClient()
        let reply = try await client.call(.copyItems, CopyItems.passwords())
        #expect(reply.error == KeychainError(.itemNotFound, cause: .invalidated))
        #expect(server.audit.events.isEmpty)
    }

    @Test("a look-up has the caller's groups, and is logged")
    func logged() async throws {
        let server = try TestServer()
        let client = try await server.greetedClient()
        for context in [nil, 3] as [UInt64?] {
            let reply = try await client.call(.copyItems, CopyItems.passwords(context: context))
            #expect(reply.body == .array([.map([CBORPair(.unsigned(ItemField.data), .bytes([1, 2, 3]))])]))
            #expect(reply.head.more == false)
        }
        for call in server.vault.calls {
            guard case .copy(let query, let groups, _, _) = call else { throw KeychainError(.param) }
            #expect(groups.count == 1)
            #expect(query.returns == .data)
        }
        #expect(server.audit.events.map(\.detail) == ["copy genp 1", "copy genp 1"])
    }

    @Test("a look-up with an invalidated context is refused")
    func invalidatedContext() async throws {
        let server = try TestServer()
        let client = try await server.greetedClient()
        _ = try await client.call(.invalidateContext, ContextNumber(3))
        let reply = try await client.call(.copyItems, CopyItems.passwords(context: 3))
        #expect(reply.error?.authentication?.code == .invalidContext)
        #expect(server.vault.calls.isEmpty)
    }

    @Test("a deletion needs no prompt")
    func delete() async throws {
        let server = try TestServer(vault: ScriptedVault { _ throws(KeychainError) in .count(3) })
        let client = try await server.greetedClient()
        let reply = try await client.call(
            .deleteItems,
            DeleteItems(query: .passwords(limit: .all), prompt: PromptFields(interactionAllowed: false))
        )
        #expect(reply.body == .unsigned(3))
        #expect(server.authenticator.evaluations.isEmpty)
    }

    @Test("an application password belongs to one context and can be removed")
    func applicationPassword() async throws {
        let server = try TestServer()
        let client = try await server.greetedClient()
        let set = SetCredential(context: 2, password: SecretBytes(copying: [1, 2]))
        #expect(try await client.call(.setCredential, set).status == .success)
        _ = try await client.call(.copyItems, CopyItems.passwords(context: 2))
        _ = try await client.call(.copyItems, CopyItems.passwords(context: 3))
        _ = try await client.call(.setCredential, SetCredential(context: 2, password: nil))
        _ = try await client.call(.copyItems, CopyItems.passwords(context: 2))
        let passwords = server.vault.calls.map { call in
            guard case .copy(_, _, let authorization, _) = call else { return false }
            return authorization.applicationPassword != nil
        }
        #expect(passwords == [true, false, false])
    }

    @Test("clients cannot name the context numbers reserved for single requests")
    func reservedNumbers() async throws {
        let server = try TestServer()
        let client = try await server.greetedClient()
        let reply = try await client.call(.setCredential, SetCredential(context: 1 << 63 | 5, password: nil))
        #expect(reply.status == .param)
    }
}
