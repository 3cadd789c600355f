import Crypto
import Foundation
import NIOSSL
import SwiftASN1
import Testing
import Touchstone
import TouchstoneLogin
import TouchstoneLoginAsyncHTTP
import WebAuthnTestKit
import X509

@Suite("The two transports behave alike", .timeLimit(.minutes(10)))
struct TransportTests {
    /// The result of a request.
    enum Outcome: Equatable, Sendable {
        case response(Int, [String: String], String)
        case error(TouchstoneError.Code)
    }

    static let transports: [(String, any LoginTransport)] = [
        ("URLSession", URLSessionTransport()), ("async-http-client", AsyncHTTPTransport()),
    ]

    private static func outcome(
        _ transport: any LoginTransport,
        _ address: String,
        method: String = "POST",
        body: String = "",
        within limit: Duration = .seconds(60)
    ) async throws -> Outcome {
        let request = LoginRequest(
            method: method,
            url: try #require(URL(string: address)),
            headers: ["X-Mine": "mine", "DPoP": "proof", "Content-Type": "text/plain"],
            body: Data(body.utf8)
        )
        do throws(TouchstoneError) {
            let response = try await transport.send(request, within: limit)
            let fields = ["x-two", "dpop-nonce", "location", "www-authenticate", "content-type"]
            return .response(
                response.status,
                response.headers.filter { fields.contains($0.key) },
                response.body.count > 1000
                    ? "\(response.body.count) bytes" : String(decoding: response.body, as: UTF8.self)
            )
        } catch {
            #expect(!error.description.contains("proof"))
            return .error(error.code)
        }
    }

    @Test("status, header, content and server errors are the same")
    func answers() async throws {
        let peer = try await Peer.start()
        let cells: [(path: String, method: String, body: String, expected: Outcome)] = [
            (
                "/echo", "POST", "täst",
                .response(
                    200,
                    ["x-two": "a, b", "dpop-nonce": "n"],
                    #"POST ["dpop: proof", "x-mine: mine"] täst"#
                )
            ),
            (
                "/echo", "DELETE", "",
                .response(
                    200,
                    ["x-two": "a, b", "dpop-nonce": "n"],
                    #"DELETE ["dpop: proof", "x-mine: mine"] "#
                )
            ),
            (
                "/echo", "GET", "",
                .response(
                    200,
                    ["x-two": "a, b", "dpop-nonce": "n"],
                    #"GET ["dpop: proof", "x-mine: mine"] "#
                )
            ),
            ("/moved", "POST", "x", .response(302, ["location": "/echo"], "")),
            ("/moved", "GET", "", .response(302, ["location": "/echo"], "")),
            ("/cookie", "GET", "", .response(200, [:], "none")),
            ("/cookie", "GET", "", .response(200, [:], "none")),
            ("/204", "POST", "x", .response(204, [:], "")),
            ("/404", "GET", "", .response(404, ["content-type": "text/html"], "<html>")),
            ("/401", "GET", "", .response(401, ["www-authenticate": "Bearer error=\"x\""], "{}")),
            ("/500", "POST", "x", .response(500, [:], "")),
            ("/chunked", "GET", "", .response(200, [:], "abc")),
            ("/limit", "GET", "", .response(200, [:], "1048576 bytes")),
            ("/large", "GET", "", .error(.badReply)),
            ("/endless", "GET", "", .error(.badReply)), ("/garbage", "GET", "", .error(.badReply)),
            ("/cut", "POST", "x", .error(.unreachable)), ("/half", "GET", "", .error(.unreachable)),
        ]
        for (name, transport) in Self.transports {
            for cell in cells {
                let outcome = try await Self.outcome(
                    transport,
                    "http://localhost:\(peer.port)\(cell.path)",
                    method: cell.method,
                    body: cell.body
                )
                #expect(outcome == cell.expected, "\(name): \(cell.method) \(cell.path)")
            }
            for path in ["/hang", "/drip"] {
                let outcome = try await Self.outcome(
                    transport,
                    "http://localhost:\(peer.port)\(path)",
                    within: .seconds(1)
                )
                #expect(outcome == .error(.timedOut), "\(name): \(path)")
                let task = Task { try await Self.outcome(transport, "http://localhost:\(peer.port)\(path)") }
                try await Task.sleep(for: .milliseconds(200))
                task.cancel()
                #expect(try await task.value == .error(.taskCancelled), "\(name): \(path)")
            }
            let early = Task {
                withUnsafeCurrentTask { $0?.cancel() }
                return try await Self.outcome(transport, "http://localhost:\(peer.port)/echo")
            }
            #expect(try await early.value == .error(.taskCancelled), "\(name): cancelled before")
            for address in ["http://localhost:1/echo", "https://localhost:1/echo"] {
                #expect(
                    try await Self.outcome(transport, address) == .error(.unreachable),
                    "\(name): \(address)"
                )
            }
        }
        try await peer.stop()
    }

    @Test("an untrusted certificate and a server without TLS fail the same way")
    func certificates() async throws {
        let maker = try SoftManufacturer()
        let leaf = try maker.certificate(
            subject: DistinguishedName { CommonName("localhost") },
            extensions: Certificate.Extensions { SubjectAlternativeNames([.dnsName("localhost")]) }
        )
        let context = try NIOSSLContext(
            configuration: .makeServerConfiguration(
                certificateChain: [
                    .certificate(try NIOSSLCertificate(bytes: SoftManufacturer.der(leaf), format: .der))
                ],
                privateKey: .privateKey(
                    try NIOSSLPrivateKey(bytes: Array(maker.leafKey.pemRepresentation.utf8), format: .pem)
                )
            )
        )
        let peer = try await Peer.start(tls: context)
        let plain = try await Peer.start()
        for (name, transport) in Self.transports {
            for port in [peer.port, plain.port] {
                let outcome = try await Self.outcome(transport, "https://localhost:\(port)/echo")
                #expect(outcome == .error(.untrustedServer), "\(name)")
            }
        }
        // A certificate that is configured as trusted is accepted, for the host name in it.
        var tls = TLSConfiguration.makeClientConfiguration()
        tls.trustRoots = .certificates([
            try NIOSSLCertificate(bytes: SoftManufacturer.der(maker.root), format: .der)
        ])
        let trusting = AsyncHTTPTransport(tls: tls)
        #expect(
            try await Self.outcome(trusting, "https://localhost:\(peer.port)/204") == .response(204, [:], "")
        )
        #expect(
            try await Self.outcome(trusting, "https://127.0.0.1:\(peer.port)/204") == .error(.untrustedServer)
        )
        try await peer.stop()
        try await plain.stop()
    }
}
