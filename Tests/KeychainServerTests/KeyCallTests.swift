import CBOR
import KeychainModel
import SecretMemory
import Synchronization
import Testing

@Suite("Private key calls")
struct KeyCallTests {
    private static let locked = KeychainError(.interactionNotAllowed, cause: .locked, remedy: .unlock)
    private static let point: [UInt8] = [4] + [UInt8](repeating: 9, count: 64)

    /// A vault whose first answer is that it is locked.
    private static func lockedOnce() -> ScriptedKeys {
        ScriptedKeys { calls throws(KeychainError) in
            if calls.count == 1 { throw locked }
            return .done
        }
    }

    /// A vault whose keys require a fingerprint.
    private static func guarded() throws -> ScriptedKeys {
        let control = try AccessControl(
            accessibility: .whenUnlocked,
            flags: [.biometryAny, .privateKeyUsage]
        )
        return ScriptedKeys { calls throws(KeychainError) in
            guard case .use(_, let use, _, let authorization) = calls.last else { return .done }
            let decision = control.decide(given: authorization.proofs, operation: use.operation)
            return decision == .granted ? .done : .needs(control)
        }
    }

    private static func makeKey(
        _ control: AccessControl = AccessControl(accessibility: .whenUnlocked),
        context: UInt64? = nil,
        interactionAllowed: Bool = true
    ) -> MakeKey {
        MakeKey(
            accessControl: control,
            context: context,
            prompt: PromptFields(interactionAllowed: interactionAllowed)
        )
    }

    private static func sign(context: UInt64? = nil, interactionAllowed: Bool = true) -> UseKey {
        UseKey(
            representation: [1, 2, 3],
            use: .sign(digest: [UInt8](repeating: 7, count: 32)),
            context: context,
            prompt: PromptFields(interactionAllowed: interactionAllowed)
        )
    }

    @Test("keys are made, read and used for the caller's own group, like items")
    func ownGroup() async throws {
        let server = try TestServer()
        let client = try await server.greetedClient()
        let made = try await client.call(.makeKey, Self.makeKey())
        let fields: [CBORValue] = [
            .bytes(ScriptedKeys.key.representation), .bytes(ScriptedKeys.key.publicKey),
            .bytes(ScriptedKeys.key.accessControl.encoded), .bool(false), .null,
        ]
        #expect(made.body == .array(fields))
        let read = ReadKey(representation: [1, 2, 3], prompt: PromptFields())
        #expect(try await client.call(.readKey, read).body == .array(fields))
        #expect(try await client.call(.useKey, Self.sign()).body == .bytes(ScriptedKeys.result))
        _ = try await client.call(.copyItems, CopyItems.passwords())
        guard case .copy(_, let groups, _, _) = server.vault.calls.last else { return }
        for call in await server.keys.calls {
            switch call {
            case .make(_, let group, _): #expect([group] == groups)
            case .read(_, let used), .use(_, _, let used, _), .attest(_, _, let used, _):
                #expect(used == groups)
            }
        }
    }

    @Test("a locked keybag is unlocked once, and the call is repeated", arguments: 0..<3)
    func unlockAndRetry(kind: Int) async throws {
        let server = try TestServer(keys: Self.lockedOnce())
        let client = try await server.greetedClient()
        let reply =
            switch kind {
            case 0: try await client.call(.makeKey, Self.makeKey())
            case 1:
                try await client.call(.readKey, ReadKey(representation: [1], prompt: PromptFields()))
            default: try await client.call(.useKey, Self.sign())
            }
        #expect(reply.status == .success)
        #expect(server.authenticator.unlockCount == 1)
        guard case .use(_, _, _, let authorization) = await server.keys.calls.last else { return }
        // The passcode that unlocked also counts for the call.
        #expect(authorization.proofs.first?.factors == [.passcode])
    }

    @Test("without permission to prompt, a locked keybag stays locked and a guarded key unused")
    func notInteractive() async throws {
        let locked = ScriptedKeys { _ throws(KeychainError) in throw Self.locked }
        for keys in [locked, try Self.guarded()] {
            let server = try TestServer(keys: keys)
            let client = try await server.greetedClient()
            let reply = try await client.call(.useKey, Self.sign(interactionAllowed: false))
            #expect(reply.status == .interactionNotAllowed)
            #expect(server.authenticator.unlockCount == 0)
            #expect(server.authenticator.evaluations.isEmpty)
            let made = try await client.call(.makeKey, Self.makeKey(interactionAllowed: false))
            #expect(made.status == (keys === locked ? .interactionNotAllowed : .success))
        }
    }

    @Test("the user is asked for the particular key use")
    func asked() async throws {
        let server = try TestServer(keys: try Self.guarded())
        let client = try await server.greetedClient()
        let uses: [KeyUse] = [
            .sign(digest: [UInt8](repeating: 7, count: 32)), .agree(publicKey: Self.point),
            .decrypt(publicKey: Self.point),
        ]
        for use in uses {
            let request = UseKey(representation: [1], use: use, context: 4, prompt: PromptFields())
            // An authentication for another use does not count; for the same use it does.
            for _ in 0..<2 { #expect(try await client.call(.useKey, request).status == .success) }
        }
        let operations = server.authenticator.evaluations.map { evaluation -> AccessOperation? in
            guard case .accessControl(_, let operation) = evaluation.target else { return nil }
            return operation
        }
        #expect(operations == [.useKeySign, .useKeyKeyExchange, .useKeyDecrypt])
    }

    @Test("a policy evaluated before is valid for every key use")
    func policy() async throws {
        let server = try TestServer(keys: try Self.guarded())
        let client = try await server.greetedClient()
        _ = try await client.call(.evaluatePolicy, EvaluatePolicy.policy(1, context: 4))
        let reply = try await client.call(.useKey, Self.sign(context: 4, interactionAllowed: false))
        #expect(reply.status == .success)
        #expect(server.authenticator.evaluations.count == 1)
    }

    @Test("a cancelled prompt ends the call")
    func cancelled() async throws {
        let authenticator = ScriptedAuthenticator { _ throws(AuthenticationError) in
            throw AuthenticationError(.userCancel)
        }
        let server = try TestServer(authenticator: authenticator, keys: try Self.guarded())
        let client = try await server.greetedClient()
        #expect(try await client.call(.useKey, Self.sign()).status == .userCanceled)
    }

    @Test("a call prompts at most 20 times if the vault never accepts")
    func rounds() async throws {
        let authenticator = ScriptedAuthenticator { _ throws(AuthenticationError) in [] }
        let server = try TestServer(authenticator: authenticator, keys: try Self.guarded())
        let client = try await server.greetedClient()
        #expect(try await client.call(.useKey, Self.sign()).status == .authFailed)
        #expect(server.authenticator.evaluations.count == 20)
        let locked = try TestServer(keys: ScriptedKeys { _ throws(KeychainError) in throw Self.locked })
        let other = try await locked.greetedClient()
        #expect(try await other.call(.makeKey, Self.makeKey()).status == .authFailed)
        #expect(locked.authenticator.unlockCount == 20)
    }

    @Test("a context's application password is passed to the vault in that context only")
    func applicationPassword() async throws {
        let server = try TestServer()
        let client = try await server.greetedClient()
        let set = SetCredential(context: 2, password: SecretBytes(copying: [1, 2]))
        _ = try await client.call(.setCredential, set)
        for context: UInt64 in [2, 3] {
            _ = try await client.call(.makeKey, Self.makeKey(context: context))
            _ = try await client.call(.useKey, Self.sign(context: context))
        }
        let passwords = await server.keys.calls.map { call in
            switch call {
            case .make(_, _, let hasPassword): hasPassword
            case .use(_, _, _, let authorization): authorization.applicationPassword != nil
            case .read, .attest: false
            }
        }
        #expect(passwords == [true, true, false, false])
    }

    @Test("before set-up the error has a remedy")
    func notSetUp() async throws {
        let missing = KeychainError(.notAvailable, cause: .notSetUp)
        let server = try TestServer(keys: ScriptedKeys { _ throws(KeychainError) in throw missing })
        let client = try await server.greetedClient()
        let reply = try await client.call(.useKey, Self.sign())
        #expect(reply.status == .notAvailable)
        #expect(reply.error?.remedy == .setPasscode)
        let control = AccessControl(accessibility: .whenPasscodeSetThisDeviceOnly)
        #expect(try await client.call(.makeKey, Self.makeKey(control)).status == .authFailed)
    }

    @Test("an invalid digest is refused, and the connection remains open")
    func malformed() async throws {
        let server = try TestServer()
        let client = try await server.greetedClient()
        let use = UseKey(representation: [1], use: .sign(digest: [1, 2, 3]), prompt: PromptFields())
        #expect(try await client.call(.useKey, use).status == .param)
        #expect(await server.keys.calls.isEmpty)
        #expect(try await client.call(.useKey, Self.sign()).status == .success)
    }

    @Test("the audit log has the caller and the operation, and nothing of the key")
    func audit() async throws {
        let server = try TestServer(keys: try Self.guarded())
        let client = try await server.greetedClient()
        _ = try await client.call(.makeKey, Self.makeKey())
        _ = try await client.call(.useKey, Self.sign(interactionAllowed: false))
        _ = try await client.call(.useKey, Self.sign())
        let events = server.audit.events.filter { $0.kind == .keyAccessed }
        #expect(events.map(\.detail) == ["make", "sign"])
        #expect(events.allSatisfy { $0.caller != nil })
    }
}
