import Foundation
import KeychainClient
import KeychainModel
import Testing
import TouchstoneTesting
import WebAuthnDevice
import WebAuthnModel

/// The cells: a known state, an extended register, the next start; a server that only records, one that asks for nothing; a chip
/// without registers of SHA-256; a machine without a chip.
@Suite("The boot state in the attestation of a device", .server, .timeLimit(.minutes(20)))
struct BootQuoteTests {
    /// How a server answers an enrolment, and whether a quote was sent.
    private struct Outcome: Equatable {
        let status: Int
        let code: String?
        let isQuoted: Bool

        init(_ status: Int, _ code: String? = nil, quoted isQuoted: Bool) {
            (self.status, self.code, self.isQuoted) = (status, code, isQuoted)
        }
    }

    /// Runs one of tpm2-tools on a device's chip while its daemon is stopped, and perhaps restarts the chip.
    private func run(
        _ tool: String,
        _ arguments: [String],
        on world: DeviceWorld,
        restarting: Bool = false
    ) async throws {
        let chip = try #require(world.chip)
        world.keychain.stop(with: SIGTERM)
        let done = try await ChildProcess.start(
            "/usr/bin/tpm2_\(tool)",
            arguments,
            environment: ["TPM2TOOLS_TCTI": chip.tcti, "PATH": "/usr/bin:/bin"]
        )
        #expect(try await done.waitUntilEnd() == 0)
        if restarting { try await chip.reset() }
        try await world.keychain.start()
        try world.keychain.unlock()
    }

    private func server(
        _ demand: String,
        states: [[UInt8]],
        in directory: TemporaryDirectory
    ) async throws -> SignInServer {
        let lines = states.map {
            $0.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined() + "\n"
        }
        let list = try directory.write(lines.joined(), to: "states")
        return try await SignInServer.start(
            ServerProgram.path,
            settings: [
                "endorsement": "any", "boot-state": demand, "boot-states": list, "password-cost": "10,8,1",
            ]
        )
    }

    /// Activates the chip's attestation key.
    private func enrol(
        _ world: DeviceWorld,
        _ server: SignInServer
    ) async throws -> Outcome {
        let app = try SignedInApp(server, world.keychain.client)
        let enrolment = try AttestationEnrolment(keychain: world.keychain.client)
        let begun = try app.call("POST", "/v1/attestation/ak", enrolment.request)
        #expect(begun.status == 201, "\(begun.json)")
        let body = try enrolment.activate(.object(begun.json))
        let answer = try app.call("POST", "/v1/attestation/ak/\(begun.json["id"]?.string ?? "")", body)
        return Outcome(answer.status, answer.json["code"]?.string, quoted: body.object?["quote"] != nil)
    }

    @Test("a machine in a known state is certified, one with another state refused until it starts as before")
    func list() async throws {
        let world = try await DeviceWorld(.blank)
        let directory = try TemporaryDirectory()
        let known = try world.keychain.client.quote(nonce: []).digest
        let server = try await server("list", states: [known], in: directory)
        #expect(try await enrol(world, server) == Outcome(200, quoted: true))
        let value = String(repeating: "ab", count: 32)
        try await run("pcrextend", ["4:sha256=\(value)"], on: world)
        #expect(try await enrol(world, server) == Outcome(422, "boot_state_untrusted", quoted: true))
        try await run("getrandom", ["1"], on: world, restarting: true)
        #expect(try await enrol(world, server) == Outcome(200, quoted: true))
    }

    @Test(
        "a TPM that does not measure with SHA-256 is refused by a list, and goes on where the state is only recorded"
    )
    func withoutBank() async throws {
        let world = try await DeviceWorld(.blank)
        try await run("pcrallocate", ["sha1:all+sha256:none"], on: world, restarting: true)
        let directory = try TemporaryDirectory()
        let strict = try await server("list", states: [], in: directory)
        #expect(try await enrol(world, strict) == Outcome(422, "boot_state_untrusted", quoted: false))
        let open = try await server("record", states: [], in: directory)
        #expect(try await enrol(world, open) == Outcome(200, quoted: false))
        let indifferent = try await server("none", states: [], in: directory)
        #expect(try await enrol(world, indifferent) == Outcome(200, quoted: false))
    }

    @Test("without a chip there is no quote, and a nonce has at most 64 bytes")
    func refusals() async throws {
        let world = try await DeviceWorld(nil)
        #expect(throws: KeychainError(.unimplemented)) { try world.keychain.client.quote(nonce: []) }
        #expect(throws: KeychainError(.param)) {
            try world.keychain.client.quote(nonce: [UInt8](repeating: 1, count: 65))
        }
    }
}
