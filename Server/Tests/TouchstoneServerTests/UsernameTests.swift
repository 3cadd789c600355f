import AccountStore
import Foundation
import NIOHTTP1
import RelyingParty
import Testing
import WebAuthnModel

@testable import TouchstoneServer

extension ServerTests {
    @Suite("Usernames")
    struct UsernameTests {
        /// Names, and what they are stored as.
        private static let allowed: KeyValuePairs = [
            // RFC 8265, section 3.5, table 1; fußball keeps its letter.
            "juliet@example.com": "juliet@example.com", "fussball": "fussball",
            "fu\u{DF}ball": "fu\u{DF}ball",
            "\u{3C0}": "\u{3C0}", "\u{3A3}": "\u{3C3}", "\u{3C3}": "\u{3C3}", "\u{3C2}": "\u{3C2}",
            // Width, case, composition.
            "Ａｎｎａ＠Ｅｘａｍｐｌｅ．ｏｒｇ": "anna@example.org", "ｱﾝﾅ": "アンナ", "ｶﾞ": "ガ", "ﾊﾟ": "パ", "ANNA": "anna",
            "Zoe\u{308}": "zo\u{EB}", "!~": "!~", "１２": "12",
            // Letters of other scripts, marks, digits.
            "한국": "한국", "山田太郎": "山田太郎", "\u{3007}": "\u{3007}", "नमस्ते": "नमस्ते", "ไทย": "ไทย", "٠١": "٠١",
            // Contextual rules.
            "क्\u{200D}ष": "क्\u{200D}ष", "क्\u{200C}ष": "क्\u{200C}ष", "col\u{B7}laborar": "col\u{B7}laborar",
            "\u{375}α": "\u{375}α", "א\u{5F3}": "א\u{5F3}", "アンナ・マリア": "アンナ・マリア", "ｱﾝﾅ･ﾏﾘｱ": "アンナ・マリア",
            // From right to left.
            "אנה": "אנה", "אנה1": "אנה1", "سارة": "سارة", "س١٢": "س١٢",
            String(repeating: "a", count: 128): String(repeating: "a", count: 128),
        ]

        private static let refused = [
            // RFC 8265, section 3.5, table 2.
            "foo bar", "", "henry\u{2163}", "\u{265A}",
            "a\u{3000}b", "a\u{A0}b", "tab\tname", "a\u{0}", "\u{AA}", "\u{FB01}", "\u{2460}", "①", "😀",
            "a\u{200B}b",
            "a\u{AD}b", "a\u{2060}", "\u{FE0F}", "a\u{E000}", "a\u{FFFF}", "a\u{10FFFF}", "«a»", "ﾡￂ",
            "\u{1100}\u{1161}\u{1100}",
            "￥", "。", "｡", "\u{1E9B}", "\u{132}", "a\u{378}",
            // Contextual rules.
            "a\u{200D}b", "\u{200D}", "a\u{200C}b", "a\u{B7}a", "l\u{B7}", "\u{B7}l", "\u{375}a", "\u{375}",
            "a\u{5F4}",
            "a・b", "س\u{640}", "س٠۰", "\u{3031}", "\u{302E}",
            // From right to left.
            "אa", "aא", "1א", "سa",
            String(repeating: "a", count: 129), String(repeating: "é", count: 65),
        ]

        @Test("names are those of UsernameCaseMapped (RFC 8265), and a refusal names the character")
        func profile() throws {
            for (text, name) in Self.allowed {
                #expect(throws: Never.self, "\(text)") {
                    let prepared = try Username.prepared(text)
                    #expect(Array(prepared.utf8) == Array(name.utf8), "\(text)")
                    // The profile is idempotent (RFC 8264, section 7).
                    #expect(try Username.prepared(prepared) == prepared)
                }
                // What is stored is found by what was typed.
                #expect(TypedName(text).forms.last.map { Array($0.utf8) } == Array(name.utf8), "\(text)")
            }
            for text in Self.refused {
                #expect(throws: Username.Refusal.self, "\(text.unicodeScalars.map(\.value))") {
                    try Username.prepared(text)
                }
            }
            let refusal = #expect(throws: Username.Refusal.self) { try Username.prepared("anna\u{2665}") }
            #expect(refusal?.detail.contains("U+2665 (BLACK HEART SUIT)") == true)
        }

        @Test("scripts that no language writes together are told, those of one are not")
        func scripts() {
            for name in [
                "anna", "anna1", "anna@example.org", "анна", "山田taro", "オバマ大統領", "アンナとanna", "한국korea", "漢字ㄅ",
                "אנה", "12",
                "zoë", "नमस्ते1",
            ] {
                #expect(Script.mixed(in: name) == nil, "\(name)")
            }
            for (name, scripts) in [
                ("\u{430}nna", ["CYRILLIC", "LATIN"]), ("αnna", ["GREEK", "LATIN"]),
                ("аα", ["CYRILLIC", "GREEK"]),
                ("한ア", ["HANGUL", "KATAKANA"]), ("anna山д", ["CYRILLIC", "HAN", "LATIN"]),
            ] as [(String, [String])] { #expect(Script.mixed(in: name) == scripts, "\(name)") }
        }

        @Test("full-width and half-width forms sign in to one account, and fail for one")
        func width() async throws {
            try await TestServer.with { server in
                let user = try await TestUser.withPasskey(on: server, "anna1")
                let taken = try await server.admin(.POST, "/users", ["username": "ＡＮＮＡ１"])
                #expect(taken.status == 409 && taken.code == "username_taken")
                let wide = TestUser(
                    server: server,
                    id: user.id,
                    name: "Ａｎｎａ１",
                    authenticator: user.authenticator
                )
                #expect(try await wide.logIn().status == 200)
                #expect(try await wide.logInByPasskey().status == 200)
                let (one, other) = (
                    try await user.options(["username": "anna1"]),
                    try await user.options(["username": "Ａｎｎａ１"])
                )
                #expect(one["publicKey"]?["allowCredentials"] == other["publicKey"]?["allowCredentials"])
                let (none, neither) = (
                    try await user.options(["username": "nobody"]),
                    try await user.options(["username": "ｎｏｂｏｄｙ"])
                )
                #expect(none["publicKey"]?["allowCredentials"] == neither["publicKey"]?["allowCredentials"])
                let made = try await server.call(
                    .POST,
                    "/v1/transactions",
                    ["type": "x", "details": [:], "username": "ａｎｎａ１"],
                    token: TestServer.serviceSecret
                )
                #expect(made.status == 201, "\(made.text)")
                for name in ["anna1", "nobody"] {
                    let user = TestUser(server: server, id: user.id, name: name)
                    let wide = TestUser(
                        server: server,
                        id: user.id,
                        name: name == "anna1" ? "ａｎｎａ１" : "ｎｏｂｏｄｙ"
                    )
                    var statuses: [Int] = []
                    for number in 0..<30 where statuses.last != 429 {
                        statuses.append(try await (number % 2 == 0 ? user : wide).logIn("wrong wrong").status)
                    }
                    #expect(statuses.last == 429)
                    #expect(try await user.logIn("wrong wrong").status == 429)
                    #expect(try await wide.logIn("wrong wrong").status == 429)
                }
            }
        }

        @Test(
            "accounts with names that are not allowed any more are found by them, and get others by a rename"
        )
        func earlier() async throws {
            try await TestServer.with { server in
                // As the store has them from before.
                for name in ["ｌｅｇａｃｙ", "♥anna"] {
                    let account = Account(
                        id: .random(byteCount: 32),
                        username: name,
                        displayName: name,
                        createdAt: .now
                    )
                    try await server.program.store.createAccount(
                        account,
                        audit: AuditEvent(.userCreated),
                        now: .now
                    )
                    let id = Base64URL.encode(account.id.bytes)
                    let path = "/users/\(id)"
                    #expect(
                        try await server.admin(.PUT, path + "/password", ["new": .string(TestUser.password)])
                            .status
                            == 204
                    )
                    var user = TestUser(server: server, id: id, name: name)
                    try await user.signIn()
                    #expect(try await user.register().status == 201)
                    #expect(try await user.logInByPasskey().status == 200)
                    let again = try await server.admin(.POST, "/users", ["username": .string(name)])
                    #expect(again.status == (name == "♥anna" ? 400 : 409), "\(again.text)")
                    // Another display name alone changes no name.
                    let shown = try await server.admin(.PATCH, path, ["displayName": "L"])
                    #expect(shown["username"]?.string == name)
                }
                let users = try await server.admin(.GET, "/users")["users"]?.array ?? []
                let wide = try #require(users.first { $0["username"]?.string == "ｌｅｇａｃｙ" }?["id"]?.string)
                // An account of the mapped name is another one; each is found by its own.
                let plain = try await TestUser.make(on: server, "legacy")
                for (name, id) in [("ｌｅｇａｃｙ", wide), ("legacy", plain.id), ("Legacy", plain.id)] {
                    var user = TestUser(server: server, id: id, name: name)
                    try await user.signIn()
                    #expect(try await user.call(.GET, "/v1/me")["id"]?.string == id, "\(name)")
                }
                let refused = try await server.admin(.PATCH, "/users/\(wide)", ["username": "ｌｅｇａｃｙ"])
                #expect(refused.status == 409, "\(refused.text)")
                #expect(try await server.admin(.DELETE, "/users/\(plain.id)").status == 204)
                let renamed = try await server.admin(.PATCH, "/users/\(wide)", ["username": "ｌｅｇａｃｙ"])
                #expect(renamed["username"]?.string == "legacy", "\(renamed.text)")
                for name in ["ｌｅｇａｃｙ", "legacy"] {
                    #expect(try await TestUser(server: server, id: wide, name: name).logIn().status == 200)
                }
            }
        }

        @Test(
            "a refused name says which character, and a name of mixed scripts is told in the listing and the audit"
        )
        func administrators() async throws {
            try await TestServer.with { server in
                let refused = try await server.admin(.POST, "/users", ["username": "a\u{200B}nna"])
                #expect(refused.status == 400 && refused.code == "invalid_request")
                #expect(refused["errors"]?.array?.first?["pointer"]?.string == "/username")
                #expect(refused.text.contains("U+200B (ZERO WIDTH SPACE)"), "\(refused.text)")
                let scripts: JSONValue = ["CYRILLIC", "LATIN"]
                let mixed = try await server.admin(.POST, "/users", ["username": "\u{430}nna"])
                #expect(mixed.status == 201 && mixed["mixedScripts"] == scripts, "\(mixed.text)")
                let anna = try await server.admin(.POST, "/users", ["username": "anna"])
                #expect(anna.status == 201 && anna["mixedScripts"] == nil)
                let id = anna["id"]?.string ?? ""
                let renamed = try await server.admin(.PATCH, "/users/\(id)", ["username": "ann\u{430}"])
                #expect(renamed["mixedScripts"] == scripts, "\(renamed.text)")
                #expect(try await server.admin(.PATCH, "/users/\(id)", ["displayName": "A"]).status == 200)
                let listed = try await server.admin(.GET, "/users")["users"]?.array ?? []
                #expect(listed.count == 2 && listed.allSatisfy { $0["mixedScripts"] == scripts })
                let records = try await server.admin(.GET, "/audit?count=1000")["records"]?.array ?? []
                let told = records.filter {
                    $0["details"]?.string?.contains(#""mixedScripts":["CYRILLIC","LATIN"]"#) == true
                }
                #expect(
                    told.compactMap { $0["event"]?.string }.sorted() == ["user_created", "user_updated"],
                    "\(told)"
                )
            }
        }
    }
}
