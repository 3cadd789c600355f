import AccountStore
import AsyncHTTPClient
import Crypto
import Foundation
import HTTPTypes
import Hummingbird
import HummingbirdCore
import Logging
import NIOCore
import NIOHTTP1
import Synchronization
import Testing
import WebAuthnModel

@testable import TouchstoneServer

extension ServerTests {
    @Suite("Notices for users through the mail hook")
    struct MailHookTests {
        /// A program that keeps each message in a file, and its environment; with another script, it does that afterwards.
        private static func program(_ directory: String, _ then: String = "") throws -> String {
            let path = "\(directory)/hook"
            let script = """
                #!/bin/sh
                cat > "\(directory)/message.$$"
                env > "\(directory)/environment"
                ls -l /proc/$$/fd > "\(directory)/descriptors"
                \(then)
                mv "\(directory)/message.$$" "\(directory)/delivered.$$"
                """
            try TestServer.write(["hook": script], to: directory, mode: 0o700)
            return path
        }

        /// The messages that were delivered, oldest first.
        private static func messages(_ directory: String) throws -> [JSONValue] {
            try FileManager.default.contentsOfDirectory(atPath: directory)
                .filter { $0.hasPrefix("delivered.") }
                .map { try JSONValue(parsing: Array(Data(contentsOf: URL(filePath: "\(directory)/\($0)")))) }
                .sorted { ($0["time"]?.integer ?? 0) < ($1["time"]?.integer ?? 0) }
        }

        /// Delivers all that is due at a time.
        @discardableResult
        private static func deliver(_ server: TestServer, now: Timestamp = .now) async throws -> Int {
            let service = server.program.current.value
            let hook = try #require(service.mailHook)
            let client = MailWebhook.client()
            var count = 0
            do {
                while true {
                    let taken = try await MailService.deliver(by: hook, client, service, now: now)
                    count += taken
                    guard taken > 0 else { break }
                }
            } catch {
                try await client.shutdown()
                throw error
            }
            try await client.shutdown()
            return count
        }

        /// Settings with which only ``deliver(_:now:)`` delivers.
        private static func command(_ then: String = "") -> (inout TouchstoneServer.ServerConfiguration)
            throws -> Void
        {
            { configuration in
                configuration.mailCommand = try program(configuration.dataDirectory, then)
                configuration.mailInterval = .seconds(3600)
            }
        }

        @Test(
            "each change of what signs in becomes a message with the account's name, in the transaction of the change",
            arguments: ServerDatabase.allCases
        )
        func events(_ database: ServerDatabase) async throws {
            try await TestServer.with(on: database, Self.command()) { server in
                let directory = server.configuration.dataDirectory
                let user = try await TestUser.withPasskey(on: server)
                let path = "/users/\(user.id)"
                #expect(
                    try await server.admin(.PUT, "\(path)/password", ["new": "a staple of batteries"]).status
                        == 204
                )
                let link = try await server.admin(.POST, "\(path)/links", ["kind": "enrolment"])
                #expect(link["url"]?.string?.contains("#link=") == true)
                #expect(try await user.logIn("wrong wrong").status == 401)
                #expect(try await server.admin(.DELETE, path).status == 204)
                #expect(try await Self.deliver(server) == 5)
                let messages = try Self.messages(directory)
                #expect(
                    messages.map { $0["event"]?.string } == [
                        "user_created", "credential_registered", "authn_password_change", "link_issued",
                        "user_deleted",
                    ]
                )
                for message in messages {
                    #expect(message["version"]?.integer == 1 && message["attempt"]?.integer == 1)
                    #expect(message["username"]?.string == "anna" && message["displayName"]?.string == "anna")
                    #expect(message["account"]?.string == user.id)
                    #expect(message["service"]?.string == server.configuration.publicURL)
                    // The link was given to the administrator, who did not ask for it to be sent.
                    #expect(message["link"] == nil)
                    let isOwn = message["event"]?.string == "credential_registered"
                    #expect(message["byAdministrator"]?.bool == !isOwn)
                    #expect((message["address"] != nil) == isOwn)
                }
                #expect(Set(messages.map { $0["id"]?.string ?? "" }).count == 5)
                // Nothing is left.
                #expect(try await Self.deliver(server, now: .now + .seconds(7200)) == 0)
                let metrics = try await server.call(.GET, "/metrics", isAdmin: true).text
                #expect(metrics.contains(#"touchstone_mail_total{outcome="delivered"} 5"#), "\(metrics)")
            }
        }

        @Test("the program gets nothing of the server's environment and files, and its output goes nowhere")
        func environment() async throws {
            try await TestServer.with(Self.command("echo out; echo error >&2")) { server in
                let directory = server.configuration.dataDirectory
                _ = try await TestUser.make(on: server)
                #expect(try await Self.deliver(server) == 1)
                let text = try String(contentsOfFile: "\(directory)/environment", encoding: .utf8)
                let names = Set(text.split(separator: "\n").map { String($0.prefix { $0 != "=" }) })
                // The shell's own.
                #expect(names.subtracting(["PWD", "_", "SHLVL", "OLDPWD"]) == ["PATH", "LANG"])
                let descriptors = try String(contentsOfFile: "\(directory)/descriptors", encoding: .utf8)
                // Its input, its outputs, and the files of the shell itself.
                #expect(descriptors.contains("pipe:[") && descriptors.contains("/dev/null"))
                for foreign in ["socket:", "anon_inode:", "sqlite", "secret"] {
                    #expect(!descriptors.contains(foreign), "\(descriptors)")
                }
            }
        }

        @Test(
            "a message that is not delivered is tried again after growing pauses, and given up after a day",
            arguments: ["exit 75", "kill -TERM $$"]
        )
        func failures(_ then: String) async throws {
            try await TestServer.with(Self.command(then)) { server in
                _ = try await TestUser.make(on: server)
                let start = Timestamp.now
                var now = start
                #expect(try await Self.deliver(server, now: now) == 1)
                var attempts = 1
                for seconds: Int64 in [10, 60, 300, 1200, 3600] {
                    #expect(try await Self.deliver(server, now: now + .seconds(seconds - 1)) == 0)
                    now = now + .seconds(seconds)
                    #expect(try await Self.deliver(server, now: now) == 1)
                    attempts += 1
                }
                while try await Self.deliver(server, now: now + .seconds(3600)) == 1 {
                    now = now + .seconds(3600)
                    attempts += 1
                }
                #expect(now < start + Notice.lifetime && attempts > 20)
                let metrics = try await server.call(.GET, "/metrics", isAdmin: true).text
                #expect(metrics.contains(#"touchstone_mail_total{outcome="failed"} \#(attempts - 1)"#))
                #expect(metrics.contains(#"touchstone_mail_total{outcome="given-up"} 1"#))
                #expect(try Self.messages(server.configuration.dataDirectory).isEmpty)
            }
        }

        @Test("a program that does not end is killed with what it started")
        func timeout() async throws {
            try await TestServer.inDirectory { directory in
                let path = try Self.program(directory, "sleep 1000 & echo $! > \"\(directory)/child\"; wait")
                let command = try MailCommand(path: path)
                let result = await command.run(Array("{}".utf8), timeout: .seconds(2))
                #expect(result == "it ran longer than 2 s")
                let text = try String(contentsOfFile: "\(directory)/child", encoding: .utf8)
                let child = try #require(pid_t(text.split(separator: "\n").first ?? ""))
                // Its parent is gone; whoever adopts it may not have reaped it yet.
                var state: String?
                for _ in 0..<500 {
                    state = try? String(contentsOfFile: "/proc/\(child)/stat", encoding: .utf8)
                    guard let state, !state.contains(") Z") else { break }
                    try await Task.sleep(for: .milliseconds(10))
                }
                #expect(state.map { $0.contains(") Z") } ?? true, "\(state ?? "")")
            }
        }

        @Test(
            "messages wait in the database while no server runs, for the next one",
            arguments: ServerDatabase.allCases
        )
        func restart(_ database: ServerDatabase) async throws {
            try await TestServer.with(on: database, Self.command()) { server in
                _ = try await TestUser.make(on: server)
                var settings = server.configuration
                settings.listen.port = 0
                settings.mailInterval = .milliseconds(20)
                // A further server on the same store.
                try await TestServer.with(settings, adminToken: server.adminToken) { next in
                    for _ in 0..<3000 {
                        let metrics = try await next.call(.GET, "/metrics", isAdmin: true).text
                        if metrics.contains("touchstone_mail_total{") { break }
                        try await Task.sleep(for: .milliseconds(10))
                    }
                    #expect(try Self.messages(settings.dataDirectory).count == 1)
                }
                #expect(try await Self.deliver(server, now: .now + .seconds(7200)) == 0)
            }
        }

        @Test(
            "a link goes through the hook if the administrator asks for it, and then not to the administrator"
        )
        func link() async throws {
            try await TestServer.with(Self.command()) { server in
                let user = try await TestUser.make(on: server)
                try await Self.deliver(server)
                let body: JSONValue = ["kind": "enrolment", "deliver": true]
                let answer = try await server.admin(.POST, "/users/\(user.id)/links", body)
                #expect(answer.status == 201 && answer["url"] == nil && answer["id"] != nil, "\(answer.text)")
                try await Self.deliver(server)
                let url = try #require(
                    try Self.messages(server.configuration.dataDirectory).last?["link"]?.string
                )
                let token = try #require(url.components(separatedBy: "#link=").last)
                #expect(url.hasPrefix(server.configuration.publicURL + "/#link="))
                let used = try await server.redeem(token)
                #expect(used.status == 200, "\(used.text)")
                // A link is not sent when it opens nothing any more.
                let short: JSONValue = ["kind": "enrolment", "deliver": true, "expiresIn": 60]
                #expect(try await server.admin(.POST, "/users/\(user.id)/links", short).status == 201)
                let count = try Self.messages(server.configuration.dataDirectory).count
                try await Self.deliver(server, now: .now + .seconds(61))
                let links = try Self.messages(server.configuration.dataDirectory).filter { $0["link"] != nil }
                #expect(links.count == 1 && count >= 2)
                let audit = try await server.admin(.GET, "/audit?count=1000").text
                #expect(!audit.contains(token))
                // What is refused leaves no notice.
                #expect(try await server.admin(.POST, "/users/\(user.id)/lock").status == 200)
                #expect(try await server.admin(.POST, "/users/\(user.id)/links", body).status == 403)
                #expect(try await Self.deliver(server) == 1)
            }
        }

        @Test("without a hook nothing waits, and no link can be sent")
        func none() async throws {
            try await TestServer.with { server in
                let user = try await TestUser.make(on: server)
                let body: JSONValue = ["kind": "enrolment", "deliver": true]
                let answer = try await server.admin(.POST, "/users/\(user.id)/links", body)
                #expect(answer.status == 400 && answer.text.contains("mail-command"), "\(answer.text)")
                let taken = try await server.program.store.takeNotices(count: 10, until: .now, now: .now)
                #expect(taken.isEmpty)
            }
        }

        @Test(
            "a webhook gets the message with a signature, by both secrets while it changes; redirects are refused"
        )
        func webhook() async throws {
            try await TestServer.inDirectory { directory in
                let secrets = ["a", "b"].map { String(repeating: $0, count: 40) }
                try TestServer.write(["secret": secrets.joined(separator: "\n") + "\n"], to: directory)
                let received = Mutex<[(path: String, signature: String, body: [UInt8])]>([])
                let status = Mutex(HTTPResponse.Status.noContent)
                let router = Router()
                for path in ["hook", "elsewhere"] {
                    router.post(RouterPath("/\(path)")) { request, _ -> Response in
                        let field = try #require(HTTPField.Name("Touchstone-Signature"))
                        let body = Array(buffer: try await request.body.collect(upTo: 1 << 20))
                        received.withLock {
                            $0.append((path, request.headers[field] ?? "", body))
                        }
                        return Response(
                            status: status.withLock { $0 },
                            headers: [.location: "/elsewhere"]
                        )
                    }
                }
                let (ports, continuation) = AsyncStream<Int>.makeStream()
                var logger = Logger(label: "peer")
                logger.logLevel = .critical
                let application = Application(
                    router: router,
                    configuration: .init(address: .hostname("127.0.0.1", port: 0)),
                    onServerRunning: { continuation.yield($0.localAddress?.port ?? 0) },
                    logger: logger
                )
                try await withThrowingTaskGroup(of: Void.self) { group in
                    group.addTask { try await application.run() }
                    let port = try #require(await ports.first { _ in true })
                    try await TestServer.with({
                        $0.mailWebhook = "http://127.0.0.1:\(port)/hook"
                        $0.mailWebhookSecretFile = "\(directory)/secret"
                        $0.mailInterval = .seconds(3600)
                    }) { server in
                        _ = try await TestUser.make(on: server)
                        let now = Timestamp.now
                        // A redirect, and then a refusal, are failures; then it is accepted.
                        for (answer, time) in [
                            (HTTPResponse.Status.temporaryRedirect, now),
                            (.internalServerError, now + .seconds(10)), (.noContent, now + .seconds(70)),
                        ] {
                            status.withLock { $0 = answer }
                            #expect(try await Self.deliver(server, now: time) == 1)
                        }
                        #expect(try await Self.deliver(server, now: now + .seconds(7200)) == 0)
                        let all = received.withLock { $0 }
                        #expect(all.map(\.path) == ["hook", "hook", "hook"])
                        for (number, one) in all.enumerated() {
                            let message = try JSONValue(parsing: one.body)
                            #expect(message["event"]?.string == "user_created")
                            #expect(message["attempt"]?.integer == Int64(number + 1))
                            let fields = one.signature.split(separator: ",").map(String.init)
                            let time = try #require(fields.first?.dropFirst(2))
                            let codes = secrets.map { secret in
                                let code = HMAC<SHA256>.authenticationCode(
                                    for: Array("\(time).".utf8) + one.body,
                                    using: SymmetricKey(data: Data(secret.utf8))
                                )
                                return "v1=" + code.map { String(format: "%02x", $0) }.joined()
                            }
                            #expect(fields == ["t=\(time)"] + codes)
                        }
                        #expect(Set(all.map(\.signature)).count == 3)
                        let ids = try all.map { try JSONValue(parsing: $0.body)["id"]?.string }
                        #expect(Set(ids).count == 1)
                    }
                    group.cancelAll()
                    while true { do { guard try await group.next() != nil else { break } } catch {} }
                }
            }
        }

        @Test("the guide's check accepts a signature, and none of other bodies, secrets or times")
        func guide() async throws {
            try await TestServer.inDirectory { directory in
                let secret = String(repeating: "s", count: 40)
                try TestServer.write(["secret": secret], to: directory)
                let webhook = try MailWebhook(url: "https://x", secretFile: "\(directory)/secret")
                let code = """
                    import hashlib, hmac, sys, time

                    \(try Guide.deployment.block(after: "<!-- signature -->"))
                    print(is_signed(sys.argv[1], sys.argv[2].encode(), sys.argv[3].encode()))
                    """
                let now = webhook.signature(of: Array("{}".utf8), at: .now)
                let old = webhook.signature(of: Array("{}".utf8), at: .now - .seconds(600))
                for (field, body, secret, result) in [
                    (now, "{}", secret, "True"), (now, "{ }", secret, "False"),
                    (now, "{}", secret + "s", "False"), (old, "{}", secret, "False"),
                ] {
                    let found = try await SystemProgram.run("python3", ["-c", code, field, body, secret])
                    #expect(found.status == 0 && found.text == "\(result)\n", "\(found.text)")
                }
            }
        }

        @Test("a hook that cannot work is an error of the configuration")
        func settings() async throws {
            try await TestServer.inDirectory { directory in
                try TestServer.write(
                    [
                        "secret": String(repeating: "s", count: 40), "short": "short",
                        "program": "#!/bin/sh\n",
                    ],
                    to: directory
                )
                func refusal(_ lines: String...) async -> String? {
                    let path = "\(directory)/conf"
                    do {
                        try Data(lines.joined(separator: "\n").utf8).write(to: URL(filePath: path))
                        let environment = ["XDG_DATA_HOME": directory]
                        let settings = try TouchstoneServer.ServerConfiguration.read(
                            file: path,
                            environment: environment
                        )
                        _ = try await settings.check()
                        return nil
                    } catch {
                        return "\(error)"
                    }
                }
                let url = "mail-webhook = https://mail.example.org/hook"
                let secret = "mail-webhook-secret-file = \(directory)/secret"
                #expect(await refusal(url, secret) == nil)
                #expect(await refusal("mail-webhook = http://localhost:1/x", secret) == nil)
                for (lines, text) in [
                    ([url], "needs mail-webhook-secret-file"),
                    (["mail-webhook = http://mail.example.org/", secret], "https"),
                    (["mail-webhook = mail.example.org", secret], "https"),
                    ([secret], "needs mail-webhook"),
                    (["mail-command = \(directory)/program"], "no program that this user can run"),
                    (["mail-command = \(directory)"], "no program that this user can run"),
                    (["mail-command = \(directory)/none"], "no program that this user can run"),
                    (["mail-command = program"], "absolute"),
                    (["mail-command = /bin/true", url, secret], "one of"),
                    ([url, "mail-webhook-secret-file = \(directory)/short"], "at least 32"),
                    ([url, "mail-webhook-secret-file = \(directory)/none"], "is not there"),
                ] {
                    let found = await refusal(lines.joined(separator: "\n"))
                    #expect(found?.contains(text) == true, "\(lines): \(found ?? "accepted")")
                }
                #expect(await refusal("mail-command = /bin/true") == nil)
            }
        }
    }
}
