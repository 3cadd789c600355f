import CBOR
import KeychainModel
import SecretMemory
import Testing

@Suite("Misses told over the socket")
struct MissNoticeTests {
    /// Misses three times, or as often as wished, and then matches.
    private static func clumsy(_ count: Int = 3) -> ScriptedAuthenticator {
        ScriptedAuthenticator { evaluation throws(AuthenticationError) in
            for number in 1...count {
                evaluation.request.onMiss?(MissedTouch(count: number, reason: .noMatch))
            }
            return [.biometry]
        }
    }

    private static func evaluation(tellsMisses: Bool) -> EvaluatePolicy {
        EvaluatePolicy(
            policy: 1,
            context: 1,
            reuseSeconds: 0,
            prompt: PromptFields(reason: "to test", tellsMisses: tellsMisses)
        )
    }

    @Test("a request that asks for misses gets each as a notice before its reply, and nothing after it")
    func notices() async throws {
        let server = try TestServer(authenticator: Self.clumsy())
        let client = try await server.greetedClient()
        let other = try await server.greetedClient()
        let id = try await client.request(.evaluatePolicy, Self.evaluation(tellsMisses: true))
        for number in 1...3 {
            let notice = try await client.reply()
            #expect(notice.head == ReplyHead(noticeAbout: id))
            #expect(notice.body == .array([.unsigned(UInt64(number)), .unsigned(1)]))
        }
        let reply = try await client.reply()
        #expect(reply.head == ReplyHead(id: id))
        // The next message on either connection answers the next request.
        let next = try await client.call(.status, EmptyBody())
        #expect(next.head == ReplyHead(id: id + 1))
        #expect(try await other.call(.status, EmptyBody()).head.isNotice == false)
    }

    @Test("a request that does not ask for misses gets none")
    func silent() async throws {
        let server = try TestServer(authenticator: Self.clumsy())
        let client = try await server.greetedClient()
        let reply = try await client.call(.evaluatePolicy, Self.evaluation(tellsMisses: false))
        #expect(reply.status == .success && !reply.head.isNotice)
        #expect(server.authenticator.evaluations.first?.request.onMiss == nil)
    }

    /// A finger in escrow may unlock, so each of these may have misses.
    @Test(
        "so does a request that only unlocks the keychain",
        arguments: [Method.readKey, .deleteItems, .eraseItems]
    )
    func unlocking(_ method: Method) async throws {
        let locked = KeychainError(.interactionNotAllowed, cause: .locked, remedy: .unlock)
        let server = try TestServer(
            vault: ScriptedVault { calls throws(KeychainError) in
                if calls.count == 1 { throw locked }
                throw KeychainError(.itemNotFound)
            },
            keys: ScriptedKeys { calls throws(KeychainError) in
                if calls.count == 1 { throw locked }
                return .done
            }
        )
        let client = try await server.greetedClient()
        let prompt = PromptFields(tellsMisses: true)
        let query = ItemQuery(itemClass: .genericPassword)
        _ =
            switch method {
            case .readKey: try await client.call(method, ReadKey(representation: [1], prompt: prompt))
            case .deleteItems: try await client.call(method, DeleteItems(query: query, prompt: prompt))
            default:
                try await client.call(
                    method,
                    EraseItems(query: query, secret: SecretBytes(copying: [1]), prompt: prompt)
                )
            }
        #expect(server.authenticator.unlockRequests.first?.onMiss != nil)
    }

    @Test("a client that does not read loses notices, and gets its reply")
    func flood() async throws {
        let count = 100_000
        let server = try TestServer(authenticator: Self.clumsy(count))
        let client = try await server.greetedClient()
        let id = try await client.request(.evaluatePolicy, Self.evaluation(tellsMisses: true))
        try await eventually("the prompt") { !server.authenticator.evaluations.isEmpty }
        var notices = 0
        var reply = try await client.reply()
        while reply.head.isNotice {
            notices += 1
            reply = try await client.reply()
        }
        #expect(reply.head == ReplyHead(id: id))
        #expect(notices > 0 && notices <= count)
    }
}
