import Foundation
import HTTPTypes
import NIOHTTP1
import RelyingParty
import Testing
import WebAuthnModel

@testable import TouchstoneServer

extension ServerTests {
    @Suite("Limits of an address")
    struct LimitTests {
        @Test("sign-ins that do not fail are not limited, by password or passkey, with a name or without")
        func successes() async throws {
            try await TestServer.with {
                $0.ceremoniesPerMinute = 8
                $0.passwordsPerMinute = 4
            } _: { server in
                let user = try await TestUser.withPasskey(on: server)
                for number in 1...62 {
                    #expect(try await user.options([:]).status == 200)
                    #expect(try await user.options(["username": .string("p-\(number)")]).status == 200)
                    guard number % 8 == 0 else { continue }
                    #expect(try await user.logIn().status == 200)
                    let login = try await user.logInByPasskey(
                        signCount: UInt32(number),
                        named: number % 16 == 0
                    )
                    #expect(login.status == 200, "\(login.text)")
                }
            }
        }

        @Test("beyond the failed passwords of an address a neighbour's right password is accepted")
        func neighbour() async throws {
            try await TestServer.with {
                $0.passwordsPerMinute = 20
            } _: { server in
                let user = try await TestUser.make(on: server)
                for number in 0..<25 {
                    let body: JSONValue = [
                        "username": .string("n-\(number % 3)-\(number)"), "password": "wrong wrong",
                    ]
                    #expect(try await server.call(.POST, "/v1/login/password", body).status == 401)
                }
                let again: JSONValue = ["username": "n-0-0", "password": "wrong wrong"]
                #expect(try await server.call(.POST, "/v1/login/password", again).status == 429)
                #expect(try await user.logIn().status == 200)
                #expect(try await user.logIn().status == 200)
            }
        }

        @Test("beyond the failed passkeys of an address only names without failures begin a sign-in")
        func passkeys() async throws {
            try await TestServer.with {
                $0.ceremoniesPerMinute = 3
            } _: { server in
                let user = try await TestUser.withPasskey(on: server)
                let neighbour = try await TestUser.withPasskey(on: server, "berta")
                func fail(_ name: JSONValue?) async throws -> Int {
                    let begun = try await user.options(
                        .object(JSONObject(name.map { [("username", $0)] } ?? []))
                    )
                    guard begun.status == 200 else { return begun.status }
                    return try await server.call(
                        .POST,
                        "/v1/login",
                        [
                            "ceremonyId": begun["ceremonyId"] ?? .null,
                            "credential": try user.assertion([UInt8](repeating: 1, count: 32)),
                        ]
                    ).status
                }
                #expect(try await fail(.string(user.name)) == 401)
                #expect(try await fail("stranger") == 401)
                #expect(try await fail(nil) == 401)
                #expect(try await fail(nil) == 429)
                // A known name and an unknown one look the same.
                for name in [user.name, "stranger", "Stranger"] {
                    #expect(try await fail(.string(name)) == 429)
                }
                for name in [neighbour.name, "another"] {
                    #expect(try await user.options(["username": .string(name)]).status == 200)
                }
                #expect(try await neighbour.logInByPasskey().status == 200)
            }
        }

        @Test("an IPv6 /64 is one address for limits, an IPv4 address is one, and a port is none")
        func networks() async throws {
            try await TestServer.with {
                $0.passwordsPerMinute = 2
                $0.trustedProxies = [IPNetwork("127.0.0.0/8")].compactMap { $0 }
            } _: { server in
                func attempt(_ address: String, _ name: String) async throws -> Int {
                    let body: JSONValue = ["username": .string(name), "password": "wrong wrong"]
                    return try await server.send(
                        .POST,
                        server.api + "/v1/login/password",
                        ["X-Forwarded-For": address],
                        (Array(body.text.utf8), "application/json")
                    ).status
                }
                for (network, addresses) in [
                    "six": ["2001:db8:0:1::1", "[2001:db8:0:1:ffff::2]:443", "2001:DB8:0:1::3"],
                    "four": ["192.0.2.1", "192.0.2.1:9999", "::ffff:192.0.2.1"],
                ] {
                    for (number, address) in addresses.prefix(2).enumerated() {
                        #expect(try await attempt(address, "\(network)-\(number)") == 401)
                    }
                    #expect(try await attempt(addresses[2], "\(network)-2") == 401)
                    let again = try await attempt(addresses[2], "\(network)-0")
                    #expect(again == 429, "\(network)")
                }
                // Others are not affected; the wait of a name is another limit.
                #expect(try await attempt("2001:db8:0:2::1", "x-0") == 401)
                #expect(try await attempt("192.0.2.2", "x-1") == 401)
            }
        }

        @Test(
            "a list of proxies in several lines of the header is one list",
            arguments: [
                (ClientAddressHeader.xForwardedFor, ["198.51.100.1", "203.0.113.9", "127.0.0.2, 127.0.0.3"]),
                (
                    .forwarded,
                    ["for=198.51.100.1", "for=203.0.113.9;proto=https, for=127.0.0.2", "for=127.0.0.3"]
                ),
            ]
        )
        func lines(_ header: ClientAddressHeader, _ lines: [String]) async throws {
            try await TestServer.with {
                $0.clientAddressHeader = header
                $0.trustedProxies = [IPNetwork("127.0.0.0/8")].compactMap { $0 }
            } _: { server in
                let user = try await TestUser.make(on: server)
                var headers = HTTPHeaders()
                for line in lines { headers.add(name: header.rawValue, value: line) }
                let body: JSONValue = ["username": .string(user.name), "password": "wrong wrong"]
                let answer = try await server.send(
                    .POST,
                    server.api + "/v1/login/password",
                    headers,
                    (Array(body.text.utf8), "application/json")
                )
                #expect(answer.status == 401)
                let audit = try await server.admin(.GET, "/users/\(user.id)/audit")
                let failed = audit["records"]?.array?.first { $0["event"]?.string == "authn_login_fail" }
                #expect(failed?["address"]?.string == "203.0.113.9", "\(audit.text)")
            }
        }

        @Test("addresses and networks are parsed, and nonsense is refused")
        func parsing() throws {
            for (text, parsed) in [
                "192.0.2.1": "192.0.2.1", "192.0.2.1:80": "192.0.2.1", "[2001:DB8::1]:80": "2001:db8::1",
                "[2001:db8::1]": "2001:db8::1", "::ffff:10.1.2.3": "10.1.2.3", "::1": "::1",
            ] { #expect(IPAddress(text)?.description == parsed, "\(text)") }
            for text in [
                "", "unknown", "_hidden", "192.0.2", "192.0.2.256", "192.0.2.01", "192.0.2.1:", "192.0.2.1:x",
                "192.0.2.1:123456", "[192.0.2.1]", "[::1", "[::1]x", "::1%eth0", " 192.0.2.1", "192.0.2.1\0",
                "2001:db8::1::2", "localhost", "1.2.3.4.5", "0x7f.0.0.1",
            ] { #expect(IPAddress(text) == nil, "\(text)") }
            for (network, members, others) in [
                (
                    "10.0.0.0/8", ["10.0.0.0", "10.255.255.255", "::ffff:10.1.1.1"],
                    ["11.0.0.0", "9.255.255.255"]
                ),
                ("192.0.2.1", ["192.0.2.1"], ["192.0.2.2", "::1"]),
                ("192.0.2.128/25", ["192.0.2.128", "192.0.2.255"], ["192.0.2.127"]),
                ("2001:db8::/33", ["2001:db8:7fff::1"], ["2001:db8:8000::", "10.0.0.1"]),
            ] {
                let network = try #require(IPNetwork(network))
                for text in members { #expect(IPAddress(text).map(network.contains) == true, "\(text)") }
                for text in others { #expect(IPAddress(text).map(network.contains) == false, "\(text)") }
            }
            for text in [
                "proxy.example.org", "10.0.0.1/8", "0.0.0.0/0", "::/0", "10.0.0.0/33", "10.0.0.0/-1",
                "10.0.0.0/",
                "2001:db8::/129", "10.0.0.0/8/8", "10.0.0.0:80", "*", "10.*", "10.0.0.0/255.0.0.0",
            ] {
                #expect(IPNetwork(text) == nil, "\(text)")
                #expect(throws: ConfigurationFault.self) {
                    try ServerConfiguration.read(
                        file: nil,
                        environment: ["TOUCHSTONE_SERVER_TRUSTED_PROXIES": "127.0.0.1 \(text)"]
                    )
                }
            }
        }

        @Test("the client's address is the nearest that no trusted proxy has, in the header of the setting")
        func headers() throws {
            let proxies = ["10.0.0.0/8", "2001:db8::/32"].compactMap { IPNetwork($0) }
            func address(_ header: ClientAddressHeader, _ value: String, peer: String = "10.0.0.1") -> String
            {
                var fields = HTTPFields()
                for name in ["X-Forwarded-For", "Forwarded", "X-Real-IP"] {
                    fields[.known(name)] = name.lowercased() == header.rawValue ? value : "198.51.100.66"
                }
                return ClientAddress.of(peer: peer, fields, header, trusting: proxies)
            }
            for (header, value, found) in [
                (.xForwardedFor, "203.0.113.9", "203.0.113.9"),
                (.xForwardedFor, "198.51.100.1, 203.0.113.9:4711, 10.0.0.2", "203.0.113.9"),
                (.xForwardedFor, "203.0.113.9, garbage, 10.0.0.2", "10.0.0.2"),
                (.xForwardedFor, "garbage", "10.0.0.1"),
                (.xForwardedFor, "", "10.0.0.1"),
                (.xForwardedFor, "10.0.0.3, 10.0.0.2", "10.0.0.3"),
                (.forwarded, "for=203.0.113.9;proto=https", "203.0.113.9"),
                (
                    .forwarded,
                    #"for=198.51.100.1, For="[2001:DB9::1]:443";by="a,b";proto=https, for=10.0.0.2"#,
                    "2001:db9::1"
                ),
                (.forwarded, "for=unknown, for=10.0.0.2", "10.0.0.2"),
                (.forwarded, "proto=https", "10.0.0.1"),
                (.xRealIP, "203.0.113.9", "203.0.113.9"),
                (.xRealIP, "203.0.113.9, 198.51.100.1", "10.0.0.1"),
            ] as [(ClientAddressHeader, String, String)] {
                #expect(address(header, value) == found, "\(header.rawValue): \(value)")
                // A proxy may append a line of its own instead of an element.
                var lines = HTTPFields()
                for line in value.components(separatedBy: ", ") {
                    lines.append(HTTPField(name: .known(header.rawValue), value: line))
                }
                if header != .xRealIP {
                    let found = ClientAddress.of(peer: "10.0.0.1", lines, header, trusting: proxies)
                    #expect(found == address(header, value), "\(header.rawValue) in lines: \(value)")
                }
                // From anybody else the field is not believed.
                #expect(address(header, value, peer: "192.0.2.7") == "192.0.2.7")
            }
        }
    }
}
