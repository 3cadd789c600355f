import Desk
import Glibc
import KeychainModel
import Testing

@Suite("Failed requests are logged")
struct FailureLogTests {
    private static let full = KeychainError(
        .diskFull,
        cause: DriverCause(domain: "sqlite", code: "13")
    )

    private static func failing(_ error: KeychainError) -> ScriptedVault {
        ScriptedVault { _ throws(KeychainError) in throw error }
    }

    private static func deletion() -> DeleteItems {
        DeleteItems(
            query: ItemQuery(itemClass: .genericPassword, limit: .all),
            prompt: PromptFields(interactionAllowed: false)
        )
    }

    private func failures(_ server: TestServer) -> [AuditEvent] {
        server.audit.events.filter { $0.kind == .requestFailed }
    }

    @Test("a failure is logged with method, status, cause and program, once per method for all callers")
    func once() async throws {
        let server = try TestServer(vault: Self.failing(Self.full))
        for client in [try await server.greetedClient(), try await server.greetedClient()] {
            for _ in 1...3 {
                #expect(try await client.call(.copyItems, CopyItems.passwords()).error == Self.full)
                #expect(try await client.call(.deleteItems, Self.deletion()).error == Self.full)
            }
        }
        #expect(
            failures(server).map(\.detail) == [
                "copyItems -34 sqlite 13", "deleteItems -34 sqlite 13",
            ]
        )
        #expect(failures(server).allSatisfy { $0.caller?.pid == getpid() })
    }

    @Test("a failure is logged again after the pause")
    func again() async throws {
        let server = try TestServer(vault: Self.failing(Self.full)) { $0.failurePause = .zero }
        let client = try await server.greetedClient()
        for count in 1...3 {
            _ = try await client.call(.deleteItems, Self.deletion())
            #expect(failures(server).count == count)
        }
    }

    @Test("refused requests are logged once per program, with the number of later ones")
    func refused() async throws {
        let server = try TestServer { $0.failurePause = .milliseconds(300) }
        let client = try await server.greetedClient()
        let foreign = CopyItems(
            query: .passwords(attributes: [.accessGroup: .string("/usr/bin/other")]),
            prompt: PromptFields()
        )
        func told() -> [AuditEvent] { server.audit.events.filter { $0.kind == .clientRefused } }
        let start = ContinuousClock.now
        // The pause may end at any call, and the call after that has nothing to count.
        try await eventually("a count") {
            for _ in 1...50 {
                #expect(try await client.call(.copyItems, foreign).status == .missingEntitlement)
            }
            try await Task.sleep(for: .milliseconds(400))
            _ = try await client.call(.copyItems, foreign)
            return told().last?.detail.hasSuffix(" more since") == true
        }
        let pauses = Int((ContinuousClock.now - start) / .milliseconds(300))
        #expect(told().first?.detail == "copyItems -34018")
        #expect((2...pauses + 2).contains(told().count))
        #expect(told().allSatisfy { $0.caller?.program == CallerTests.ownPath })
    }

    @Test(
        "every kind of internal failure is logged",
        arguments: [
            KeychainError(.io), KeychainError(.readOnly), KeychainError(.decode, cause: .damaged),
            KeychainError(.allocate), KeychainError(.internalComponent), KeychainError(.notAvailable),
            KeychainError(AuthenticationError(.systemCancel, cause: .damaged, remedy: .check)),
        ]
    )
    func faults(error: KeychainError) async throws {
        let server = try TestServer(vault: Self.failing(error))
        let client = try await server.greetedClient()
        _ = try await client.call(.deleteItems, Self.deletion())
        #expect(failures(server).count == 1)
    }

    @Test(
        "errors caused by the user or the query are not logged",
        arguments: [
            KeychainError(.itemNotFound, cause: .invalidated), KeychainError(.duplicateItem),
            KeychainError(.param), KeychainError(.missingEntitlement), KeychainError(.unimplemented),
            KeychainError(.dataTooLarge), KeychainError(.authFailed), KeychainError(.userCanceled),
            KeychainError(.interactionNotAllowed, cause: .locked),
            KeychainError(.notAvailable, cause: .notSetUp, remedy: .setPasscode),
            KeychainError(.decode, cause: .exportDamaged),
            KeychainError(AuthenticationError(.systemCancel, remedy: .retry)),
        ]
    )
    func others(error: KeychainError) async throws {
        let server = try TestServer(vault: Self.failing(error))
        let client = try await server.greetedClient()
        #expect(try await client.call(.deleteItems, Self.deletion()).status != .success)
        #expect(failures(server).isEmpty)
    }

    /// What ends a connection.
    enum Fault: CaseIterable, Sendable {
        case malformed, length, nonce, noHello, requestNumber, foreignMethod

        func commit(by client: TestClient) async throws {
            if self != .nonce, self != .noHello { try await client.hello() }
            switch self {
            case .malformed: try await client.write(TestClient.header(1) + [0xFF])
            case .length: try await client.write(TestClient.header(0))
            case .nonce:
                try await client.request(
                    .hello,
                    Hello(nonce: [UInt8](repeating: 0, count: Greeting.nonceOctetCount))
                )
            case .noHello: try await client.request(.status, EmptyBody())
            case .requestNumber:
                try await client.write(TestClient.frame(RequestHead(id: 1, method: .status), EmptyBody()))
            case .foreignMethod: try await client.request(.agentNext, EmptyBody())
            }
            #expect(try await client.isClosed())
        }
    }

    @Test(
        "connections ended for the same reason write one line, with the number of later ones",
        arguments: Fault.allCases
    )
    func endedConnections(fault: Fault) async throws {
        let server = try TestServer()
        for _ in 1...50 { try await fault.commit(by: try server.connect()) }
        #expect(server.audit.events.map(\.kind) == [.clientRefused])
        let again = try TestServer { $0.failurePause = .zero }
        for _ in 1...3 { try await fault.commit(by: try again.connect()) }
        #expect(again.audit.events.count == 3)
        // Another reason has its own line.
        let other: Fault = fault == .length ? .nonce : .length
        try await other.commit(by: try server.connect())
        #expect(server.audit.events.count == 2)
    }
}
