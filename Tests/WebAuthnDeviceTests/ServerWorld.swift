import Foundation
import KeychainClient
import KeychainModel
import LoopbackHTTP
import Testing
import TouchstoneTesting
import WebAuthnDevice
import WebAuthnModel

/// The server program, which the package in `Server/` builds.
enum ServerProgram {
    /// The path that `Scripts/test-server` gives.
    private static let named = ProcessInfo.processInfo.environment["TOUCHSTONE_SERVER"]

    /// That path; otherwise the one in that package's build directory.
    static let path: String = {
        if let named { return named }
        let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        return root.appending(path: "Server/.build/debug/touchstone-server").path
    }()

    /// A path that was given is used in any case: a test that finds no program there fails instead of being skipped.
    static var isThere: Bool { named != nil || FileManager.default.isExecutableFile(atPath: path) }
}

extension Trait where Self == ConditionTrait {
    /// Skips the test if the server program is missing.
    static var server: Self {
        .enabled(if: ServerProgram.isThere, "Scripts/test-server builds it and runs this")
    }
}

/// The example program at a keychain's terminal.
struct Example {
    let keychain: PrivateKeychain

    func run(_ arguments: String..., input: String = "") async throws -> (status: Int32, output: String) {
        let log = keychain.home.appending("example.\(UUID().uuidString)")
        let text = try keychain.home.write(input, to: "input")
        let terminal = keychain.prompt().origin.terminal ?? ""
        // Prompts appear on the terminal of its descriptors.
        let process = try await ChildProcess.start(
            "/bin/sh",
            [
                "-c", "output=$1; shift; exec \"$@\" < '\(text)' > \"$output\" 2> '\(terminal)'", "sh", log,
                "\(Programs.directory)/DeviceSignIn",
            ] + arguments,
            environment: [
                "TOUCHSTONE_HOME": keychain.home.path, "TOUCHSTONE_DAEMON": Programs.touchstoned,
                "TERM": "xterm",
            ],
            log: keychain.home.appending("example.log")
        )
        let status = try await process.waitUntilEnd()
        return (status >> 8, try String(contentsOfFile: log, encoding: .utf8))
    }

    func enrol(_ server: SignInServer) async throws -> (status: Int32, output: String) {
        try await run("enrol", server.url, SignInServer.user, input: SignInServer.password + "\n")
    }
}

/// An app's calls to the server, with the proofs of a session key.
final class SignedInApp {
    private let server: SignInServer
    private let key: ProofKey
    private var access: String?
    /// The server's last nonce for proofs.
    private var nonce: String?

    init(_ server: SignInServer, _ keychain: RemoteKeychain) throws {
        self.server = server
        key = try ProofKey(keychain: keychain, reason: "a test")
        let tokens = try call(
            "POST",
            "/v1/login/password",
            ["username": .string(SignInServer.user), "password": .string(SignInServer.password)]
        )
        access = try #require(tokens.json["access_token"]?.string)
    }

    func call(_ method: String, _ path: String, _ body: JSONValue? = nil) throws -> (
        status: Int, json: JSONObject
    ) {
        for isLast in [false, true] {
            var headers = ["Content-Type": "application/json"]
            headers["Authorization"] = access.map { "Bearer \($0)" }
            headers["DPoP"] = try key.proof(
                method: method,
                url: server.url + path,
                nonce: nonce,
                accessToken: access,
                reason: "a test"
            )
            let answer = try server.api.send(method, path, headers: headers, body: body?.json ?? [])
            nonce = answer.headers["dpop-nonce"] ?? nonce
            let json = try #require((answer.body.isEmpty ? [:] : try JSONValue(parsing: answer.body)).object)
            if isLast || json["code"]?.string != "use_dpop_nonce" { return (answer.status, json) }
        }
        preconditionFailure("the loop ends with its second round")
    }

    /// Enrols a TPM's attestation key, and returns its certificates.
    func certificates(_ enrolment: AttestationEnrolment) throws -> [[UInt8]] {
        let begun = try call("POST", "/v1/attestation/ak", enrolment.request)
        #expect(begun.status == 201, "\(begun.json)")
        let secret = try enrolment.activate(.object(begun.json))
        let answer = try call("POST", "/v1/attestation/ak/\(begun.json["id"]?.string ?? "")", secret)
        #expect(answer.status == 200, "\(answer.json)")
        return try AttestationEnrolment.certificates(.object(answer.json))
    }

    /// Begins a registration.
    func options() throws -> (id: JSONValue, options: CreationOptions) {
        let begun = try call("POST", "/v1/credentials/options", ["kind": "device"])
        #expect(begun.status == 200, "\(begun.json)")
        return (
            try #require(begun.json["ceremonyId"]),
            try CreationOptions(parsing: try #require(begun.json["publicKey"]))
        )
    }
}
