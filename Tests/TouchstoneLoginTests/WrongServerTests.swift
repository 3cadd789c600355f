import Foundation
import Glibc
import Testing
import Touchstone
import TouchstoneTesting

@testable import TouchstoneLogin

/// A scripted peer without a server behind it.
@Suite("Wrong, late and missing responses", .timeLimit(.minutes(20)))
struct WrongServerTests {
    private static let json = ["Content-Type": "application/json"]
    /// The response to the password.
    private static let good = [
        "access_token": "\"ACCESS\"", "refresh_token": "\"r\"", "token_type": "\"Bearer\"",
        "expires_in": "300",
        "refresh_bound": "true", "acr": "\"pwd\"", "sub": "\"AAAA\"",
    ]

    private static func tokens(_ changes: [String: String] = [:]) -> String {
        let members = good.merging(changes) { $1 }.filter { !$0.value.isEmpty }
        return "{\(members.map { "\"\($0.key)\":\($0.value)" }.joined(separator: ","))}"
            .replacing("ACCESS", with: UUID().uuidString)
    }

    @Test("each wrong response has its own error with a next step, and nothing is stored")
    func answers() async throws {
        let relay = try Relay()
        let keychain = try await TemporaryKeychain(reader: nil)
        typealias Cell = (name: String, deed: Relay.Deed, code: TouchstoneError.Code, detail: String?)
        var cells: [Cell] = [
            ("the end at once", .cut, .unreachable, nil),
            ("nothing", .hang, .timedOut, "no response within 10.0 seconds"),
            ("drops", .drip, .timedOut, nil),
            ("a page", .answer(200, [:], "<html>"), .badReply, "no JSON object"),
            ("no content", .answer(204, [:], ""), .badReply, "access_token"),
            ("an array", .answer(200, Self.json, "[]"), .badReply, "no JSON object"),
            ("a name twice", .answer(200, Self.json, #"{"a":1,"a":2}"#), .badReply, "no JSON object"),
            (
                "far too deep", .answer(200, Self.json, String(repeating: "[", count: 10_000)), .badReply,
                "no JSON object"
            ),
            (
                "too much", .answer(200, Self.json, String(repeating: " ", count: (1 << 20) + 1)), .badReply,
                "content: at most 1048576 bytes"
            ),
            ("elsewhere", .answer(302, ["Location": "\(relay.url)/elsewhere"], ""), .badReply, nil),
            ("a proxy's page", .answer(404, [:], "<html>"), .badReply, nil),
            ("a failure", .answer(500, [:], "<html>"), .unreachable, nil),
            (
                "too many", .answer(429, ["Retry-After": "7"], #"{"code":"too_many_attempts"}"#), .throttled,
                nil
            ),
            (
                "nonces without end", .answer(400, ["DPoP-Nonce": "n"], #"{"error":"use_dpop_nonce"}"#),
                .badReply, nil
            ),
            ("a refusal", .answer(401, [:], #"{"code":"authentication_failed"}"#), .wrongPassword, nil),
            ("no HTTP", .bytes(Array("SSH-2.0-OpenSSH_9.2\r\n".utf8)), .badReply, nil),
        ]
        for (name, value) in [
            ("access_token", ""), ("access_token", "7"), ("access_token", #""""#),
            ("access_token", #""a\nb""#),
            ("access_token", #""a b""#), ("refresh_token", ""), ("refresh_token", "null"),
            ("token_type", #""MAC""#),
            ("expires_in", "0"), ("expires_in", "1e9"), ("expires_in", "-5"),
            ("expires_in", "9223372036854775807"),
            ("refresh_bound", "false"), ("refresh_bound", ""), ("acr", ""),
            ("sub", ""), ("sub", "7"), ("sub", #""""#), ("sub", #""a b""#),
        ] {
            cells.append(
                ("\(name): \(value)", .answer(200, Self.json, Self.tokens([name: value])), .badReply, name)
            )
        }
        try await keychain.use {
            for cell in cells {
                let login = LoginClient(
                    server: relay.url,
                    timeout: cell.code == .timedOut ? .seconds(10) : .seconds(60)
                )
                relay.script { _ in cell.deed }
                let before = relay.exchanges.count
                let error = await failure { () async throws(TouchstoneError) in
                    try await login.signIn(user: "anna", password: "secret of anna's")
                }
                #expect(error?.code == cell.code, "\(cell.name): \(error as Any)")
                if let detail = cell.detail {
                    #expect(error?.details.first == detail, "\(cell.name): \(error as Any)")
                }
                #expect(
                    error?.description.contains("secret") == false
                        && error?.message(in: "en").isEmpty == false
                )
                // No redirection is followed, and a nonce is tried once.
                let wanted = before + (cell.name == "nonces without end" ? 2 : 1)
                try await Deadline.wait(for: "the request: \(cell.name)") {
                    relay.exchanges.count >= wanted ? true : nil
                }
                #expect(relay.exchanges.count == wanted, "\(cell.name)")
                if cell.code == .throttled {
                    #expect(error?.retryAfter == .seconds(7) && error?.nextStep == .wait)
                }
                #expect(try await login.state() == .signedOut)
            }
            relay.script { _ in .answer(200, Self.json, Self.tokens()) }
            let session = try await LoginClient(server: relay.url).signIn(user: "anna", password: "p")
            #expect(try await session.accessToken().count == 36)
        }
    }

    @Test("an unreachable server, plain HTTP to another machine, and invalid addresses are refused")
    func addresses() async throws {
        let keychain = try await TemporaryKeychain(reader: nil)
        try await keychain.use {
            for (address, code) in [
                ("http://localhost:1", TouchstoneError.Code.unreachable),
                ("http://example.org", .untrustedServer),
                ("http://localhost.example.org", .untrustedServer), ("https://a:b@localhost", .limitExceeded),
                ("https://localhost/?x=1", .limitExceeded), ("ftp://localhost", .limitExceeded),
                ("https://", .limitExceeded),
            ] {
                let login = LoginClient(server: try #require(URL(string: address)))
                let error = await failure { () async throws(TouchstoneError) in
                    try await login.signIn(user: "anna", password: "p")
                }
                #expect(error?.code == code, "\(address): \(error as Any)")
            }
        }
    }

    @Test("an untrusted certificate and a server without TLS are refused")
    func certificates() async throws {
        let keychain = try await TemporaryKeychain(reader: nil)
        let server = try await OtherServer.start()
        let plain = try Relay()
        try await keychain.use {
            for port in [server.port, plain.port] {
                let login = LoginClient(server: try #require(URL(string: "https://localhost:\(port)")))
                let error = await failure { () async throws(TouchstoneError) in
                    try await login.signIn(user: "anna", password: "p")
                }
                #expect(error?.code == .untrustedServer && error?.nextStep == .askForHelp, "\(error as Any)")
            }
        }
    }
}

/// OpenSSL's server with a certificate that no authority has signed.
private final class OtherServer: Sendable {
    let port: UInt16
    private let directory: TemporaryDirectory
    private let process: ChildProcess

    static func start() async throws -> OtherServer {
        let directory = try TemporaryDirectory()
        let program = "/usr/bin/openssl"
        let (key, certificate) = (directory.appending("key.pem"), directory.appending("certificate.pem"))
        let made = try await ChildProcess.start(
            program,
            [
                "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout",
                key, "-out",
                certificate, "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost", "-days",
                "2",
            ],
            environment: ["PATH": "/usr/bin:/bin", "HOME": directory.path],
            log: directory.appending("req.log")
        )
        guard try await made.waitUntilEnd() == 0 else { throw TestKitError.unexpected("openssl req") }
        let log = directory.appending("server.log")
        let process = try await ChildProcess.start(
            program,
            ["s_server", "-accept", "0", "-key", key, "-cert", certificate, "-www"],
            environment: ["PATH": "/usr/bin:/bin", "HOME": directory.path],
            log: log
        )
        let port = try await Deadline.wait(for: "openssl's port") { () -> UInt16? in
            let text = (try? String(contentsOfFile: log, encoding: .utf8)) ?? ""
            return text.firstMatch(of: /ACCEPT [^\n]*:(\d+)\n/).flatMap { UInt16($0.output.1) }
        }
        return OtherServer(port, directory, process)
    }

    private init(_ port: UInt16, _ directory: TemporaryDirectory, _ process: ChildProcess) {
        self.port = port
        self.directory = directory
        self.process = process
    }

    deinit { process.stop() }
}
