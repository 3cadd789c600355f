import Foundation
import HTTPTypes
import NIOHTTP1
import RelyingParty
import Testing
import WebAuthnModel

@testable import TouchstoneServer

extension ServerTests {
    @Suite("Account page: files")
    struct PageFileTests {
        @Test(
            "the page has a policy that allows nothing from other origins, and is revalidated by caches"
        )
        func fields() async throws {
            try await TestServer.with {
                $0.rpName = #"Müller & "Söhne" <b>"#
            } _: { server in
                let page = try await server.call(.GET, "/")
                #expect(page.status == 200)
                #expect(page.headers.first(name: "Content-Type") == "text/html; charset=utf-8")
                #expect(page.text.contains("Müller &amp; &quot;Söhne&quot; &lt;b&gt;"))
                #expect(!page.text.contains("<b>") && !page.text.contains("{{"))
                var tags: [String] = []
                for path in ["/"] + (try PageFiles(relyingParty: "")).names.map({ "/assets/\($0)" }) {
                    let answer = try await server.call(.GET, path)
                    #expect(answer.status == 200 && !answer.body.isEmpty, "\(path)")
                    #expect(answer.headers.first(name: "Content-Security-Policy") == PageRoutes.policy)
                    #expect(answer.headers.first(name: "X-Content-Type-Options") == "nosniff")
                    #expect(answer.headers.first(name: "Cache-Control") == "no-cache")
                    #expect(answer.headers["Set-Cookie"] == [])
                    let tag = try #require(answer.headers.first(name: "ETag"))
                    tags.append(tag)
                    for known in [tag, "W/\(tag)", "\"x\", \(tag)"] {
                        let again = try await server.send(.GET, server.api + path, ["If-None-Match": known])
                        #expect(again.status == 304 && again.body.isEmpty, "\(path) \(known)")
                        #expect(again.headers.first(name: "ETag") == tag)
                    }
                    let other = try await server.send(.GET, server.api + path, ["If-None-Match": "\"x\""])
                    #expect(other.status == 200)
                }
                #expect(Set(tags).count == tags.count)
                for path in ["/assets/nothing.js", "/assets/..%2fpage.js", "/assets/"] {
                    #expect(try await server.call(.GET, path).status == 404, "\(path)")
                }
                for directive in [
                    "default-src 'none'", "script-src 'self'", "frame-ancestors 'none'", "base-uri 'none'",
                ] {
                    #expect(PageRoutes.policy.contains(directive))
                }
                #expect(!PageRoutes.policy.contains("unsafe"))
            }
        }

        @Test(
            "files reference only each other, the page has no inline script or style, and no file is unused"
        )
        func references() throws {
            let files = try PageFiles(relyingParty: "x")
            var named: Set<Substring> = []
            for language in PageLanguage.allCases {
                let page = String(decoding: try #require(files.page(in: language)).bytes, as: UTF8.self)
                for match in page.matches(of: #/(?:src|href)="([^"]*)"/#) {
                    #expect(match.1.hasPrefix("/assets/") || match.1.hasPrefix("#"), "\(match.1)")
                    if match.1.hasPrefix("/assets/") { named.insert(match.1.dropFirst(8)) }
                }
                #expect(!page.contains("style=") && !page.contains("<style") && !page.contains("javascript:"))
                #expect(page.matches(of: #/<script(?! type="module" src=)/#).isEmpty)
                #expect(page.matches(of: #/\son[a-z]+=/#).isEmpty)
            }
            for name in files.names {
                let text = String(decoding: try #require(files.asset(name)).bytes, as: UTF8.self)
                for match in text.matches(of: #/from "\.\/([a-z-]+\.js)"/#) { named.insert(match.1) }
                for match in text.matches(of: #/https?:\/\/[^" )]*/#) {
                    #expect(match.0 == "http://www.w3.org/2000/svg", "\(name): \(match.0)")
                }
                #expect(!text.contains("innerHTML") && !text.contains("eval("), "\(name)")
                #expect(!text.contains("url(") && !text.contains("@import"), "\(name)")
            }
            #expect(Set(named.map(String.init)) == Set(files.names))
        }

        @Test("a server with the page disabled does not serve it")
        func off() async throws {
            try await TestServer.with {
                $0.accountPage = false
            } _: { (server: TestServer) async throws in
                #expect(try await server.call(.GET, "/").status == 404)
                #expect(try await server.call(.GET, "/assets/page.js").status == 404)
                #expect(try await server.call(.GET, "/v1/openapi.json").status == 200)
            }
        }

        @Test("the list of transactions has the caller's pending ones")
        func transactions() async throws {
            try await TestServer.with { server in
                let user = try await TestUser.withPasskey(on: server)
                let other = try await TestUser.withPasskey(on: server, "berta")
                func make(_ user: TestUser) async throws -> JSONValue {
                    let made = try await user.call(
                        .POST,
                        "/v1/transactions",
                        ["type": "consent", "details": ["scope": "all"]]
                    )
                    return try #require(made["id"])
                }
                let ids = [try await make(user), try await make(user)]
                _ = try await make(other)
                func listed() async throws -> [JSONValue] {
                    (try await user.call(.GET, "/v1/transactions")["transactions"]?.array ?? []).compactMap {
                        $0["id"]
                    }
                }
                #expect(Set(try await listed().map(\.text)) == Set(ids.map(\.text)))
                let id = ids[0].string ?? ""
                #expect(try await user.call(.POST, "/v1/transactions/\(id)/rejection").status == 200)
                #expect(try await listed() == [ids[1]])
                #expect(try await server.call(.GET, "/v1/transactions").status == 401)
                // A service does not get a list: it knows which ones it created.
                let service = try await server.call(.GET, "/v1/transactions", token: TestServer.serviceSecret)
                #expect(service.status == 401)
            }
        }
    }
}
