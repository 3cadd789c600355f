import AccountStore
import Foundation
import NIOHTTP1
import Testing
import WebAuthnModel

@testable import TouchstoneServer

extension ServerTests {
    @Suite("Users with password hashes of another program")
    struct UserImportTests {
        /// The self-test of crypt_blowfish, and the test of argon2's reference implementation.
        private static let bcrypt = "$2a$05$CCCCCCCCCCCCCCCCCCCCC.E5YPO9kmyuRGyh0XouQYb4YMJKvyOeW"
        private static let argon2 =
            "$argon2id$v=19$m=256,t=2,p=2$c29tZXNhbHQ$bQk8UB/VmZZF4Oo79iDXuL5/0ttZwg2f/5U52iv1cDc"
        /// RFC 7914, section 12, third vector.
        private static let scrypt =
            "$scrypt$ln=14,r=8,p=1$U29kaXVtQ2hsb3JpZGU$cCO9yzr9c0hGHAbNgf046/2o+7qQT44+qbVD9lRdofI"
        private static let crypt7 =
            "$7$C6..../....SodiumChloride$kBGj9fHznVYFQMEn/qDCfrDevf9YDtcDdKvEqHJLV8D"

        /// Imports lines into the database of a server.
        private func add(
            _ lines: [String],
            to server: TestServer,
            isDryRun: Bool = false
        ) async throws -> (summary: UserImportSummary, refused: [String]) {
            let path = "\(server.configuration.dataDirectory)/users.jsonl"
            try Data(lines.map { "\($0)\n" }.joined().utf8).write(to: URL(filePath: path))
            var refused: [String] = []
            let summary = try await ServerProgram.importUsers(
                server.configuration,
                from: path,
                isDryRun: isDryRun,
                refused: { refused.append($0) }
            )
            return (summary, refused)
        }

        private func line(_ name: String, _ hash: String? = nil, _ further: String = "") -> String {
            let hash = hash.map { #","passwordHash":"\#($0)""# } ?? ""
            return #"{"username":"\#(name)"\#(hash)\#(further)}"#
        }

        private func stored(_ name: String, on server: TestServer) async throws -> PasswordRecord? {
            try await server.program.store.account(username: name)?.password
        }

        private func logIn(_ name: String, _ password: String, on server: TestServer) async throws -> Answer {
            try await server.call(
                .POST,
                "/v1/login/password",
                ["username": .string(name), "password": .string(password)]
            )
        }

        @Test(
            "a hash is verified until its owner signs in, and is the server's own from then on",
            arguments: ServerDatabase.allCases
        )
        func rehash(_ database: ServerDatabase) async throws {
            try await TestServer.with(on: database) { server in
                let users = [
                    ("berta", Self.bcrypt, "U*U"), ("arne", Self.argon2, "password"),
                    ("sven", Self.scrypt, "pleaseletmein"), ("carl", Self.crypt7, "pleaseletmein"),
                ]
                let (summary, refused) = try await add(users.map { line($0.0, $0.1) }, to: server)
                #expect(summary.description == "created: 4, already there: 0, refused: 0")
                #expect(refused.isEmpty)
                for (name, hash, password) in users {
                    #expect(try await stored(name, on: server)?.hash == hash)
                    let wrong = try await logIn(name, password + "!", on: server)
                    #expect(wrong.status == 401 && wrong.code == "authentication_failed")
                    // A failure leaves it as it is.
                    #expect(try await stored(name, on: server)?.hash == hash)
                    try await server.program.store.reset([LimitKey("password", name)])
                    #expect(try await logIn(name, password, on: server).status == 200, "\(name)")
                    let own = try #require(try await stored(name, on: server)?.hash)
                    #expect(own.hasPrefix("$scrypt$ln=10,r=8,p=1$") && own != hash)
                    #expect(try await logIn(name, password, on: server).status == 200)
                    #expect(try await stored(name, on: server)?.hash == own)
                    #expect(try await logIn(name, password + "!", on: server).status == 401)
                }
                // Again: nothing is doubled, and no hash comes back.
                let again = try await add(users.map { line($0.0, $0.1) }, to: server)
                #expect(again.summary.description == "created: 0, already there: 4, refused: 0")
                #expect(try await stored("berta", on: server)?.hash.hasPrefix("$scrypt$") == true)
            }
        }

        @Test("failures of an imported account are throttled as those of others are")
        func throttled() async throws {
            try await TestServer.with { server in
                _ = try await add([line("berta", Self.bcrypt)], to: server)
                _ = try await TestUser.make(on: server, "other")
                var statuses: [String: [Int]] = [:]
                for name in ["berta", "other", "nobody"] {
                    for _ in 0..<3 {
                        statuses[name, default: []].append(
                            try await logIn(name, "wrong wrong", on: server).status
                        )
                    }
                }
                for name in statuses.keys { #expect(statuses[name] == [401, 401, 429], "\(name)") }
            }
        }

        @Test("an imported password can have to be changed, and an account can be without one")
        func members() async throws {
            try await TestServer.with { server in
                let (summary, refused) = try await add(
                    [
                        line("Berta", Self.bcrypt, #","displayName":"Berta B.","mustChangePassword":true"#),
                        line("dora"), line("\u{430}nna"), "", "  ",
                    ],
                    to: server
                )
                #expect(summary.created == 3 && summary.refused == 0, "\(refused)")
                let berta = try #require(try await server.program.store.account(username: "berta"))
                #expect(berta.displayName == "Berta B." && berta.password?.mustChange == true)
                let limited = try await logIn("berta", "U*U", on: server)
                #expect(limited.status == 403 && limited.code == "password_change_required")
                let dora = try #require(try await server.program.store.account(username: "dora"))
                #expect(dora.password == nil && dora.displayName == "dora")
                #expect(try await logIn("dora", "", on: server).status == 401)

                let records = try await server.admin(.GET, "/audit?count=1000")["records"]?.array ?? []
                let created = records.filter { $0["event"]?.string == "user_created" }
                #expect(created.count == 3)
                #expect(created.allSatisfy { $0["reason"]?.string == "import" })
                // One import, one trace.
                #expect(Set(created.map { $0["trace"]?.string ?? "" }).count == 1)
                #expect(created.filter { $0["details"]?.string?.contains("CYRILLIC") == true }.count == 1)
                #expect(!records.contains { $0["details"]?.string?.contains("$2a$") == true })
            }
        }

        @Test(
            "a line that is wrong is refused by its number and with its text escaped, and the others are added"
        )
        func refused() async throws {
            try await TestServer.with { server in
                let long = String(repeating: "x", count: InputLines.mostBytes)
                let (summary, refused) = try await add(
                    [
                        "\u{FEFF}" + line("first", Self.bcrypt),
                        "not json", "[1]", line("a b", Self.bcrypt), line("", Self.bcrypt),
                        line("dave", "$1$salt$hash"),
                        line("dave", "$2b$31$CCCCCCCCCCCCCCCCCCCCC.E5YPO9kmyuRGyh0XouQYb4YMJKvyOeW"),
                        #"{"username":"dave","passwordhash":"x"}"#,
                        #"{"username":"dave","\u001b[2J\u202ex":1}"#,
                        #"{"username":"dave","username":"eve"}"#,
                        #"{"username":7}"#, #"{"passwordHash":"\#(Self.bcrypt)"}"#,
                        line("dave", nil, #","mustChangePassword":true"#),
                        line("dave", Self.bcrypt, #","displayName":"a\u001bb""#),
                        line(long), line("last", Self.bcrypt),
                    ],
                    to: server
                )
                #expect(summary.created == 2 && summary.existing == 0 && summary.refused == 14)
                #expect(refused.map { String($0.prefix { $0 != ":" }) } == (2...15).map { "line \($0)" })
                for (text, index) in [
                    ("none of the forms", 4), ("at most 15 for bcrypt", 5),
                    ("passwordhash is none of displayName, mustChangePassword, passwordHash, username", 6),
                    ("\\u001b[2J\\u202ex", 7), ("username is missing", 10), ("needs a passwordHash", 11),
                    ("no control characters", 12), ("65536 bytes", 13),
                ] { #expect(refused[index].contains(text), "\(refused[index])") }
                for line in refused {
                    #expect(
                        !line.unicodeScalars.contains { $0.value < 0x20 || $0.value == 0x202E },
                        "\(line)"
                    )
                    #expect(!line.contains("CCCCC") && !line.contains("$salt"), "\(line)")
                }
                #expect(try await stored("first", on: server)?.hash == Self.bcrypt)
                #expect(try await stored("last", on: server)?.hash == Self.bcrypt)
                #expect(try await server.program.store.account(username: "dave") == nil)
            }
        }

        @Test(
            "the first of several lines with a name counts, in any form of the name; a dry run writes nothing"
        )
        func doubles() async throws {
            try await TestServer.with { server in
                _ = try await TestUser.make(on: server, "anna")
                let lines =
                    [line("Anna", Self.bcrypt), line("x1", Self.argon2), line("X1", Self.bcrypt)]
                    + (2...150).map { line("x\($0)", Self.bcrypt) }
                let dry = try await add(lines, to: server, isDryRun: true)
                #expect(dry.summary.description == "to be created: 150, already there: 2, refused: 0")
                #expect(try await server.admin(.GET, "/users?count=1000")["users"]?.array?.count == 1)
                let done = try await add(lines, to: server)
                #expect(done.summary.description == "created: 150, already there: 2, refused: 0")
                #expect(try await stored("x1", on: server)?.hash == Self.argon2)
                #expect(try await stored("anna", on: server)?.hash.hasPrefix("$2a$") == false)
                #expect(try await server.admin(.GET, "/users?count=1000")["users"]?.array?.count == 151)
            }
        }

        @Test("the exit status says what became of an import")
        func program() async throws {
            try await TestServer.inDirectory { directory in
                func run(_ arguments: String...) async throws -> (status: Int32, text: String) {
                    let process = try BuiltProgram(directory, arguments, [:])
                    let status = await process.status()
                    return (status, try await process.output(until: nil))
                }
                let good = "\(directory)/good"
                try Data((line("berta", Self.bcrypt) + "\n" + line("carl", Self.crypt7)).utf8)
                    .write(to: URL(filePath: good))
                let bad = "\(directory)/bad"
                try Data("{}\n\(line("dora"))".utf8).write(to: URL(filePath: bad))
                let none = try await run("import-users", good)
                #expect(none.status == 69 && none.text.contains("does not exist"), "\(none.text)")
                #expect(try await run("migrate").status == 0)
                let dry = try await run("import-users", "--dry-run", good)
                #expect(dry.status == 0 && dry.text.contains("to be created: 2"), "\(dry.text)")
                let done = try await run("import-users", good)
                #expect(done.status == 0 && done.text.contains("created: 2"), "\(done.text)")
                let partly = try await run("import-users", bad)
                #expect(partly.status == 65, "\(partly.text)")
                #expect(
                    partly.text.contains("touchstone-server: line 1: username is missing"),
                    "\(partly.text)"
                )
                #expect(partly.text.contains("created: 1, already there: 0, refused: 1"), "\(partly.text)")
                let missing = try await run("import-users", "\(directory)/no\u{1B}such")
                #expect(missing.status == 66 && missing.text.contains("no\\u001bsuch: No such file"))
                #expect(try await run("import-users", directory).status == 66)
                #expect(try await run("import-users").status == 64)
                let piped = try BuiltProgram(
                    directory,
                    ["import-users", "-"],
                    [:],
                    through: "exec < \(good)"
                )
                #expect(await piped.status() == 0)
                #expect(try await piped.output(until: nil).contains("already there: 2"))
            }
        }
    }
}
