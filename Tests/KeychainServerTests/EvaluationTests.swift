import CBOR
import Desk
import KeychainModel
import KeychainServer
import Testing
import TouchstoneTesting

@Suite("Evaluations")
struct EvaluationTests {
    /// A user who does nothing until the prompt is removed.
    private static func silent(shown: Flag, gone: Flag) -> ScriptedAuthenticator {
        ScriptedAuthenticator { _ throws(AuthenticationError) in
            shown.raise()
            do {
                try await Task.sleep(for: .seconds(600))
            } catch {
                gone.raise()
                throw AuthenticationError(.appCancel)
            }
            return []
        }
    }

    @Test(
        "an unknown policy is refused without a prompt",
        arguments: [0, -1, 5, 1 << 31, Int64.min, Int64.max]
    )
    func unknownPolicy(number: Int64) async throws {
        let server = try TestServer()
        let client = try await server.greetedClient()
        let reply = try await client.call(.evaluatePolicy, EvaluatePolicy.policy(number))
        #expect(reply.status == .param)
        #expect(reply.error?.authentication == AuthenticationError(.invalidParameter))
        let available = try await client.call(.canEvaluatePolicy, CanEvaluatePolicy(policy: number))
        #expect(available.status == .param)
        #expect(server.authenticator.evaluations.isEmpty)
    }

    @Test("an unknown operation is refused without a prompt", arguments: [-1, 6, 1 << 40] as [Int64])
    func unknownOperation(number: Int64) async throws {
        let server = try TestServer()
        let client = try await server.greetedClient()
        let body = EvaluateAccessControl(
            accessControl: try AccessControl(accessibility: .whenUnlocked, flags: .userPresence),
            operation: number,
            context: 1,
            reuseSeconds: 0,
            prompt: PromptFields(reason: "to test")
        )
        #expect(try await client.call(.evaluateAccessControl, body).status == .param)
        #expect(server.authenticator.evaluations.isEmpty)
    }

    @Test("an empty reason is refused without a prompt")
    func emptyReason() async throws {
        let server = try TestServer()
        let client = try await server.greetedClient()
        let reply = try await client.call(.evaluatePolicy, EvaluatePolicy.policy(1, reason: ""))
        #expect(reply.error?.authentication == AuthenticationError(.invalidParameter))
        #expect(server.authenticator.evaluations.isEmpty)
    }

    @Test(
        "the reuse duration is clamped to 0 to 300 s",
        arguments: [
            (0, 0), (10, 10), (10_000, 300), (-5, 0), (.nan, 0), (.infinity, 300), (-.infinity, 0),
        ] as [(Double, Int64)]
    )
    func reuse(asked: Double, given: Int64) async throws {
        let server = try TestServer()
        let client = try await server.greetedClient()
        let reply = try await client.call(.evaluatePolicy, EvaluatePolicy.policy(1, reuse: asked))
        #expect(reply.status == .success)
        #expect(server.authenticator.evaluations.first?.reuse == .seconds(given))
    }

    @Test("a success reports the factors and the domain state")
    func success() async throws {
        let server = try TestServer()
        let client = try await server.greetedClient()
        let reply = try await client.call(.evaluatePolicy, EvaluatePolicy.policy(2))
        #expect(reply.body == .array([.array([.unsigned(1)]), try await Self.domainState(server)]))
        #expect(server.authenticator.evaluations.first?.request.caller.pid ?? 0 > 0)
    }

    @Test("the domain state differs between groups and is constant for one group")
    func domainState() async throws {
        let one = try await Self.domainState(TestServer())
        let again = try await Self.domainState(TestServer())
        let ownGroup = ClientIdentity(ownProgram: CallerTests.ownPath)
        let other = try await Self.domainState(TestServer(identity: ownGroup))
        #expect(one == again)
        #expect(one != other)
        for case .bytes(let octets) in [one, other] {
            #expect(octets.count == 32)
            #expect(octets != [UInt8](repeating: 7, count: 32))
        }
    }

    /// The domain state that an app gets before any evaluation.
    private static func domainState(_ server: TestServer) async throws -> CBORValue {
        let client = try await server.greetedClient()
        let reply = try await client.call(.canEvaluatePolicy, CanEvaluatePolicy(policy: 1))
        guard case .array(let fields)? = reply.body, let state = fields.last else { return .null }
        return state
    }

    @Test("cancelling a request removes its prompt")
    func cancel() async throws {
        let (shown, gone) = (Flag(), Flag())
        let server = try TestServer(authenticator: Self.silent(shown: shown, gone: gone))
        let client = try await server.greetedClient()
        let id = try await client.request(.evaluatePolicy, EvaluatePolicy.policy(1))
        try await eventually("prompt") { shown.isRaised }
        let cancel = try await client.request(.cancel, CancelRequest(id: id))
        #expect(try await client.reply().head.id == cancel)
        let reply = try await client.reply()
        #expect(reply.head.id == id)
        #expect(reply.error?.authentication == AuthenticationError(.appCancel))
        #expect(gone.isRaised)
    }

    @Test("invalidating a context ends its evaluation and refuses later requests")
    func invalidate() async throws {
        let (shown, gone) = (Flag(), Flag())
        let server = try TestServer(authenticator: Self.silent(shown: shown, gone: gone))
        let client = try await server.greetedClient()
        try await client.request(.evaluatePolicy, EvaluatePolicy.policy(1, context: 9))
        try await eventually("prompt") { shown.isRaised }
        try await client.request(.invalidateContext, ContextNumber(9))
        #expect(try await client.reply().status == .success)
        #expect(try await client.reply().error?.authentication == AuthenticationError(.appCancel))
        let later = try await client.call(.evaluatePolicy, EvaluatePolicy.policy(1, context: 9))
        #expect(later.error?.authentication == AuthenticationError(.invalidContext))
        let items = try await client.call(.copyItems, CopyItems.passwords(context: 9))
        #expect(items.status == .authFailed)
        #expect(items.error?.authentication == AuthenticationError(.invalidContext))
        #expect(server.vault.calls.isEmpty)
    }

    @Test("a client's disconnection removes its prompt")
    func vanish() async throws {
        let (shown, gone) = (Flag(), Flag())
        let server = try TestServer(authenticator: Self.silent(shown: shown, gone: gone))
        let client = try await server.greetedClient()
        try await client.request(.evaluatePolicy, EvaluatePolicy.policy(1))
        try await eventually("prompt") { shown.isRaised }
        await client.hangUp()
        try await eventually("end of the prompt") { gone.isRaised }
        try await eventually("end of the connection") { server.server.idleTime != nil }
    }

    @Test("a stopping daemon ends pending requests with systemCancel")
    func stop() async throws {
        let (shown, gone) = (Flag(), Flag())
        let server = try TestServer(authenticator: Self.silent(shown: shown, gone: gone))
        let client = try await server.greetedClient()
        try await client.request(.evaluatePolicy, EvaluatePolicy.policy(1))
        try await eventually("prompt") { shown.isRaised }
        await server.server.stop(grace: Deadline.patience)
        #expect(try await client.reply().error?.authentication == AuthenticationError(.systemCancel))
        #expect(try await client.isClosed())
        #expect(gone.isRaised)
    }
}
