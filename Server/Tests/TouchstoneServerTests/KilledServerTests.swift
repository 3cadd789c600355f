import Foundation
import NIOHTTP1
import Synchronization
import Testing
import WebAuthnModel
import WebAuthnTestKit

@testable import TouchstoneServer

extension ServerTests {
    @Suite("A server killed under load")
    struct KilledServerTests {
        /// What the server had acknowledged when it was killed.
        private struct Told {
            var credentials: [(user: Int, id: [UInt8])] = []
            var sessions: [(user: Int, id: String, token: String)] = []
            var ended: [(user: Int, id: String, token: String)] = []
            var removed: [(user: Int, id: [UInt8])] = []
            var consumed: [JSONValue] = []
            var count: Int { credentials.count + sessions.count + ended.count + removed.count }
        }

        private final class Record: Sendable {
            private let told = Mutex(Told())

            func withLock<Value: Sendable>(_ body: (inout sending Told) -> sending Value) -> Value {
                told.withLock(body)
            }
        }

        /// Signs in, registers and revokes until the server is gone.
        private static func live(_ number: Int, _ user: TestUser, _ told: Record) async {
            do {
                while true {
                    var other = user
                    other.authenticator = TestUser.authenticator()
                    guard try await other.register().status == 201 else { return }
                    let id = other.authenticator.credentialId
                    told.withLock { $0.credentials.append((number, id)) }
                    let body = try await other.passkeyBody(named: false)
                    let answer = try await user.server.call(.POST, "/v1/login", body)
                    guard let session = answer["session_id"]?.string,
                        let token = answer["access_token"]?.string
                    else { return }
                    told.withLock {
                        $0.sessions.append((number, session, token))
                        $0.consumed.append(body)
                    }
                    guard try await user.call(.DELETE, "/v1/sessions/\(session)").status == 204 else {
                        return
                    }
                    told.withLock { $0.ended.append((number, session, token)) }
                    let path = "/v1/credentials/\(Base64URL.encode(id))"
                    guard try await user.call(.DELETE, path).status == 204 else { return }
                    told.withLock { $0.removed.append((number, id)) }
                }
            } catch {
                // The server was killed.
            }
        }

        @Test(
            "after a restart all acknowledged registrations, revocations, challenges and audit records are there"
        )
        func killed() async throws {
            try await TestServer.inDirectory { directory in
                var ports = try FreePorts()
                var process = try BuiltProgram(directory, ["serve"], ports.environment)
                try await ports.wait(process)
                let offer = try await process.output(until: "ts_bt_")
                let first = try #require(offer.firstRange(of: "ts_bt_"))
                let token = String(offer[first.lowerBound...].prefix { !$0.isWhitespace })
                let configuration = try TestServer.configuration(directory)
                func server(_ admin: String) -> TestServer {
                    TestServer(
                        api: "http://127.0.0.1:\(ports.api)",
                        admin: "http://127.0.0.1:\(ports.admin)",
                        program: nil,
                        configuration: configuration,
                        adminToken: admin
                    )
                }
                let answer = try await server("").call(
                    .POST,
                    "/admin/v1/bootstrap",
                    ["token": .string(token)],
                    isAdmin: true
                )
                let admin = try #require(answer["token"]?.string, "\(answer.text)")
                var users: [TestUser] = []
                for number in 0..<6 {
                    users.append(try await TestUser.signedIn(on: server(admin), "user-\(number)"))
                }
                let told = Record()
                let victim = process
                await withTaskGroup(of: Void.self) { group in
                    for (number, user) in users.enumerated() {
                        group.addTask { await Self.live(number, user, told) }
                    }
                    for _ in 0..<2400 where told.withLock({ $0.count }) < 150 {
                        try? await Task.sleep(for: .milliseconds(25))
                    }
                    victim.kill()
                }
                #expect(await process.status() == SIGKILL)
                let known = told.withLock { $0 }
                #expect(known.removed.count > 5, "there was no load")

                ports = try FreePorts()
                process = try BuiltProgram(directory, ["serve"], ports.environment)
                try await ports.wait(process)
                let again = server(admin)
                #expect(try await again.call(.GET, "/health/ready", isAdmin: true).status == 200)
                for (number, user) in users.enumerated() {
                    let list = try await again.call(.GET, "/v1/credentials", token: user.access)
                    #expect(list.status == 200)
                    let removed = known.removed.filter { $0.user == number }.map(\.id)
                    for (_, id) in known.credentials.filter({ $0.user == number }) {
                        let isThere = list.text.contains(Base64URL.encode(id))
                        // The last removal may have been committed without being acknowledged.
                        let isLast = id == known.credentials.last { $0.user == number }?.id
                        if removed.contains(id) {
                            #expect(!isThere)
                        } else {
                            #expect(isThere || isLast)
                        }
                    }
                    var audit = ""
                    var cursor = "0"
                    while true {
                        let page = try await again.admin(
                            .GET,
                            "/users/\(user.id)/audit?count=1000&after=\(cursor)"
                        )
                        #expect(page.status == 200, "\(page.text)")
                        audit += page.text
                        guard let next = page["next"]?.string, next != cursor else { break }
                        cursor = next
                    }
                    for (_, id, _) in known.sessions.filter({ $0.user == number }) {
                        #expect(audit.contains(id), "a login is not in the audit")
                    }
                    for (_, id) in known.credentials.filter({ $0.user == number }) {
                        #expect(audit.contains(Base64URL.encode(id)))
                    }
                    #expect(audit.components(separatedBy: "credential_removed").count - 1 >= removed.count)
                }
                for (_, _, token) in known.ended {
                    #expect(try await again.call(.GET, "/v1/me", token: token).status == 401)
                }
                for body in known.consumed {
                    #expect(try await again.call(.POST, "/v1/login", body).status == 410)
                }
                process.terminate()
                #expect(await process.status() == 0)
            }
        }
    }
}
