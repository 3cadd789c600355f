import AccountStore
import AsyncHTTPClient
import Foundation
import HTTPTypes
import Logging
import NIOCore
import NIOHTTP1
import RelyingParty
import Testing
import WebAuthnModel
import WebAuthnTestKit

@testable import TouchstoneServer

/// A complete server with its own ports and store, reached over HTTP.
struct TestServer: Sendable {
    let api: String
    let admin: String
    let configuration: ServerConfiguration
    let adminToken: String
    private let running: ServerProgram?

    /// Refers to a server in this process, or to one elsewhere, which has no ``program``.
    init(
        api: String,
        admin: String,
        program: ServerProgram?,
        configuration: ServerConfiguration,
        adminToken: String
    ) {
        self.api = api
        self.admin = admin
        running = program
        self.configuration = configuration
        self.adminToken = adminToken
    }

    var program: ServerProgram {
        guard let running else { preconditionFailure("it runs elsewhere") }
        return running
    }

    static let serviceSecret = "a service's secret of 32 characters or more"
    static let origin = "http://localhost:8080"

    /// Settings that make tests fast: a cheap derivation, generous limits.
    static func configuration(_ directory: String) throws -> ServerConfiguration {
        var configuration = ServerConfiguration(dataDirectory: directory)
        configuration.listen.port = 0
        configuration.adminListen.port = 0
        configuration.passwordCost = .init(ln: 10, r: 8, p: 1)
        configuration.passwordsPerMinute = 100_000
        configuration.ceremoniesPerMinute = 100_000
        try write(["service.secret": "\(serviceSecret)\n"], to: directory)
        configuration.serviceSecretFile = "\(directory)/service.secret"
        configuration.audienceDirectory = "\(directory)/audiences"
        try write(
            audiences: [
                "service": "resource = \(audience)",
                "signed": "resource = \(signedAudience)\nservices = service\nformat = jwt",
            ],
            to: directory
        )
        return configuration
    }

    /// The resource whose tokens the service with ``serviceSecret`` introspects.
    static let audience = "https://api.example.org"
    /// The resource whose tokens are JWTs.
    static let signedAudience = "https://signed.example.org"

    /// Writes the files of audiences in place of those that are there.
    static func write(audiences: [String: String], to directory: String) throws {
        let folder = "\(directory)/audiences"
        try? FileManager.default.removeItem(atPath: folder)
        try write(audiences, to: folder)
    }

    /// Writes files into a directory, which is created if it is not there.
    static func write(_ files: [String: String], to directory: String, mode: Int = 0o600) throws {
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        for (name, text) in files {
            let path = "\(directory)/\(name)"
            try Data(text.utf8).write(to: URL(filePath: path))
            try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: path)
        }
    }

    /// Runs a server in a new directory for `body`.
    static func with(
        _ configure: (inout ServerConfiguration) throws -> Void = { _ in },
        _ body: (TestServer) async throws -> Void
    ) async throws {
        try await inDirectory { directory in
            var configuration = try configuration(directory)
            try configure(&configuration)
            try await with(configuration, body)
        }
    }

    /// Calls `body` with a new directory, and deletes that afterwards.
    static func inDirectory(_ body: (String) async throws -> Void) async throws {
        let directory =
            FileManager.default.temporaryDirectory.path + "/touchstone-server-\(UUID().uuidString)"
        try FileManager.default.createDirectory(
            atPath: directory,
            withIntermediateDirectories: true,
            attributes: [.posixPermissions: 0o700]
        )
        defer { try? FileManager.default.removeItem(atPath: directory) }
        try await body(directory)
    }

    /// Runs a server with these settings for `body`, with an administrator.
    ///
    /// `adminToken` is from an earlier server on the same store; nil: the first administrator is created.
    static func with(
        _ configuration: ServerConfiguration,
        adminToken: String? = nil,
        _ body: (TestServer) async throws -> Void
    ) async throws {
        var logger = Logger(label: "test")
        logger.logLevel = .critical
        let program = try await ServerProgram.start(configuration, logger: logger)
        let token = try await program.offerFirstAdministrator()
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await program.run() }
            let ports = try #require(await program.ports.both())
            var server = TestServer(
                api: "http://127.0.0.1:\(ports.api)",
                admin: "http://127.0.0.1:\(ports.admin)",
                program: program,
                configuration: configuration,
                adminToken: adminToken ?? ""
            )
            if let token {
                let answer = try await server.call(
                    .POST,
                    "/admin/v1/bootstrap",
                    ["token": .string(token)],
                    isAdmin: true
                )
                server = TestServer(
                    api: server.api,
                    admin: server.admin,
                    program: program,
                    configuration: configuration,
                    adminToken: try #require(answer["token"]?.string)
                )
            }
            do { try await body(server) } catch {
                group.cancelAll()
                throw error
            }
            group.cancelAll()
            // The tasks end by cancellation, so their errors are expected.
            while true { do { guard try await group.next() != nil else { break } } catch {} }
        }
    }

    // MARK: Calls

    /// Sends a request with a JSON body; with a proof by a key, if one is given and no proof.
    func call(
        _ method: NIOHTTP1.HTTPMethod,
        _ path: String,
        _ body: JSONValue? = nil,
        token: String? = nil,
        dpop: String? = nil,
        key: SoftProofKey? = nil,
        isAdmin: Bool = false
    ) async throws -> Answer {
        try await proving(method, path, token, dpop, key) { headers in
            try await send(
                method,
                (isAdmin ? admin : api) + path,
                headers,
                body.map { (Array($0.text.utf8), "application/json") }
            )
        }
    }

    /// Sends a request with the headers for a token and a proof; again with the nonce that the server asks for.
    private func proving(
        _ method: NIOHTTP1.HTTPMethod,
        _ path: String,
        _ token: String?,
        _ dpop: String?,
        _ key: SoftProofKey?,
        _ send: (HTTPHeaders) async throws -> Answer
    ) async throws -> Answer {
        var headers = HTTPHeaders()
        if let token { headers.add(name: "Authorization", value: "Bearer \(token)") }
        if let dpop { headers.add(name: "DPoP", value: dpop) }
        guard let key, dpop == nil else { return try await send(headers) }
        func proof(_ nonce: String?) throws -> String {
            try key.proof(self, path, method: method.rawValue, nonce: nonce, token: token)
        }
        headers.add(name: "DPoP", value: try proof(nil))
        let answer = try await send(headers)
        guard [answer.code, answer["error"]?.string].contains("use_dpop_nonce") else { return answer }
        headers.replaceOrAdd(name: "DPoP", value: try proof(answer.headers.first(name: "DPoP-Nonce")))
        return try await send(headers)
    }

    /// Sends a form.
    func form(
        _ path: String,
        _ form: KeyValuePairs<String, String>,
        token: String? = nil
    ) async throws -> Answer {
        try await self.form(path, form.map { ($0.key, $0.value) }, token: token)
    }

    /// Sends a form; with a proof by a key, if one is given and no proof.
    func form(
        _ path: String,
        _ form: [(String, String)],
        token: String? = nil,
        dpop: String? = nil,
        key: SoftProofKey? = nil
    ) async throws -> Answer {
        let text = form.map { name, value in
            "\(name)=\(value.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? "")"
        }.joined(separator: "&")
        return try await proving(.POST, path, token, dpop, key) { headers in
            try await send(
                .POST,
                api + path,
                headers,
                (Array(text.utf8), "application/x-www-form-urlencoded")
            )
        }
    }

    /// Sends any request.
    func send(
        _ method: NIOHTTP1.HTTPMethod,
        _ url: String,
        _ headers: HTTPHeaders = [:],
        _ body: (bytes: [UInt8], type: String)? = nil
    ) async throws -> Answer {
        var request = HTTPClientRequest(url: url)
        request.method = method
        request.headers = headers
        if let body {
            if !headers.contains(name: "Content-Type") {
                request.headers.add(name: "Content-Type", value: body.type)
            }
            request.body = .bytes(ByteBuffer(bytes: body.bytes))
        }
        let response = try await HTTPClient.shared.execute(request, timeout: .seconds(120))
        let buffer = try await response.body.collect(upTo: 4 << 20)
        return Answer(
            status: Int(response.status.code),
            headers: response.headers,
            body: Array(buffer: buffer)
        )
    }

    /// Sends a request as the administrator.
    func admin(_ method: NIOHTTP1.HTTPMethod, _ path: String, _ body: JSONValue? = nil) async throws -> Answer
    {
        try await call(method, "/admin/v1" + path, body, token: adminToken, isAdmin: true)
    }
}

/// A server's response.
struct Answer: Sendable {
    let status: Int
    let headers: HTTPHeaders
    let body: [UInt8]

    var json: JSONValue? { try? JSONValue(parsing: body, depth: 32) }
    subscript(name: String) -> JSONValue? { json?.object?[name] }
    /// The problem's code, or the OAuth error.
    var code: String? { self["code"]?.string ?? self["error"]?.string }
    var text: String { String(decoding: body, as: UTF8.self) }
}

extension JSONValue {
    /// The JSON text that is sent.
    var text: String {
        switch self {
        case .null: "null"
        case .bool(let flag): flag ? "true" : "false"
        case .integer(let number): "\(number)"
        case .number(let number): "\(number)"
        case .string(let text):
            "\"\(text.unicodeScalars.map { $0.value < 0x20 || $0 == "\"" || $0 == "\\" ? Self.escaped($0) : String($0) }.joined())\""
        case .array(let values): "[\(values.map(\.text).joined(separator: ","))]"
        case .object(let object):
            "{\(object.members.map { "\(JSONValue.string($0.name).text):\($0.value.text)" }.joined(separator: ","))}"
        }
    }

    private static func escaped(_ scalar: Unicode.Scalar) -> String {
        let digits = String(scalar.value, radix: 16)
        return "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
    }

    subscript(name: String) -> JSONValue? { object?[name] }
}
