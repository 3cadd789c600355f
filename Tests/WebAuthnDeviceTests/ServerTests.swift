import CBOR
import Foundation
import KeychainClient
import KeychainModel
import LoopbackHTTP
import Testing
import TouchstoneTesting
import WebAuthnDevice
import WebAuthnModel

@Suite("A device with the server program", .server, .timeLimit(.minutes(20)))
struct ServerTests {
    private static let policy = ["device-attestation": "policy", "password-cost": "10,8,1"]

    private static func roots() async throws -> [String] {
        let authority = try await SoftwareTPM.authority()
        return [authority.root, authority.issuer]
    }

    /// Types of endorsement keys, with or without a manufacturer's certificate.
    enum Chip: CaseIterable, Sendable {
        case certifiedP384, certifiedRSA2048, uncertifiedP256

        /// TPMT_PUBLIC begins with the key's type and its name's hash algorithm: SHA-384 for P-384.
        func describes(_ area: [UInt8]) -> Bool {
            switch self {
            case .certifiedP384: area.starts(with: [0, 0x23, 0, 0x0C])
            case .certifiedRSA2048: area.starts(with: [0, 0x01, 0, 0x0B])
            case .uncertifiedP256: area.starts(with: [0, 0x23, 0, 0x0B])
            }
        }
    }

    @Test(
        "an endorsement key leads to a certified attestation key, and that to a credential with the TPM's policy",
        arguments: Chip.allCases
    )
    func chain(kind: Chip) async throws {
        let world = try await DeviceWorld(kind == .uncertifiedP256 ? .blank : .certified(1))
        let chip = try #require(world.chip)
        if kind == .certifiedRSA2048 {
            // The platform removes the certificate of the preferred key.
            world.keychain.stop(with: SIGTERM)
            let removed = try await ChildProcess.start(
                "/usr/bin/tpm2_nvundefine",
                ["-T", chip.tcti, "-C", "p", "0x01c00016"],
                environment: ["PATH": "/usr/bin:/bin"]
            )
            #expect(try await removed.waitUntilEnd() == 0)
            try await world.keychain.start()
            try world.keychain.unlock()
        }
        let server =
            if kind == .uncertifiedP256 {
                try await SignInServer.start(
                    ServerProgram.path,
                    settings: Self.policy.merging(["endorsement": "any"]) { $1 }
                )
            } else {
                try await SignInServer.start(
                    ServerProgram.path,
                    roots: try await Self.roots(),
                    settings: Self.policy
                )
            }
        let app = try SignedInApp(server, world.keychain.client)
        let enrolment = try AttestationEnrolment(keychain: world.keychain.client)
        #expect(kind.describes(try #require(enrolment.request.object?["ekPublic"]?.bytes)))
        let certificates = try app.certificates(enrolment)
        let device = world.device("localhost", server.url)

        let begun = try app.options()
        let before = world.keychain.prompts
        let made = try device.register(
            begun.options,
            verification: .passcode,
            certificates: certificates,
            reason: "a test"
        )
        #expect(world.keychain.prompts == before + 1, "one prompt for the attestation")
        #expect(try ReadRegistration(made).format == "tpm")
        let body: JSONValue = ["ceremonyId": begun.id, "credential": made.json]
        let registered = try app.call("POST", "/v1/credentials", body)
        #expect(registered.status == 201, "\(registered.json)")
        #expect(registered.json["assurance"]?.string == "tpm")
        #expect(registered.json["uvEvidence"]?.string == "tpm_policy")
        #expect(registered.json["signCount"]?.integer == 0)

        // The client's policy steps are recomputed: other steps are refused.
        let again = try app.options()
        let second = try device.register(
            again.options,
            verification: .passcode,
            certificates: certificates,
            reason: "a test"
        )
        let told = String(decoding: second.json.json, as: UTF8.self)
        #expect(told.contains("\"command\":363"))
        let changed = try JSONValue(
            parsing: Array(told.replacing("\"command\":363", with: "\"command\":364").utf8)
        )
        let refused = try app.call(
            "POST",
            "/v1/credentials",
            ["ceremonyId": again.id, "credential": changed]
        )
        #expect(
            refused.status == 422 && refused.json["code"]?.string == "key_policy_rejected",
            "\(refused.json)"
        )

        // Without the TPM's certification nothing is registered.
        let third = try app.options()
        let unattested = try device.register(third.options, verification: .passcode, reason: "a test")
        #expect(try ReadRegistration(unattested).format == "packed")
        let alone = try app.call(
            "POST",
            "/v1/credentials",
            ["ceremonyId": third.id, "credential": unattested.json]
        )
        #expect(alone.status == 422, "\(alone.json)")
    }

    @Test("a TPM without a trusted manufacturer is refused, and so is one that cannot read the secret")
    func untrusted() async throws {
        let certified = try await DeviceWorld(.certified(1))
        let server = try await SignInServer.start(
            ServerProgram.path,
            roots: try await Self.roots(),
            settings: Self.policy
        )
        let app = try SignedInApp(server, certified.keychain.client)
        let blank = try await DeviceWorld(.blank)
        let enrolment = try AttestationEnrolment(keychain: blank.keychain.client)
        let refused = try app.call("POST", "/v1/attestation/ak", enrolment.request)
        #expect(refused.status == 422 && refused.json["code"]?.string == "attestation_untrusted")

        // One TPM's certificate with another TPM's attestation key: neither can read the secret.
        let genuine = try AttestationEnrolment(keychain: certified.keychain.client)
        let borrowed: JSONValue = [
            "ekCertificates": try #require(genuine.request.object?["ekCertificates"]),
            "akPublic": try #require(enrolment.request.object?["akPublic"]),
        ]
        let begun = try app.call("POST", "/v1/attestation/ak", borrowed)
        #expect(begun.status == 201)
        // TPM_RC_CURVE from the TPM whose key is on another curve; TPM_RC_INTEGRITY from the one with another key name.
        for (liar, code) in [(enrolment, "0x2e7"), (genuine, "0x1df")] {
            let error = #expect(throws: DeviceError.self) { try liar.activate(.object(begun.json)) }
            guard case .keychain(let refusal) = error else {
                Issue.record("\(String(describing: error))")
                continue
            }
            #expect(refusal.error.cause?.code.hasPrefix(code) == true, "\(refusal)")
        }
    }

    @Test("a software device registers if allowed, and does not claim more than it can prove")
    func software() async throws {
        let world = try await DeviceWorld(nil)
        #expect(throws: DeviceError.keychain(KeychainError(.unimplemented))) {
            try AttestationEnrolment(keychain: world.keychain.client)
        }
        let server = try await SignInServer.start(
            ServerProgram.path,
            settings: ["password-cost": "10,8,1"]
        )
        let app = try SignedInApp(server, world.keychain.client)
        let begun = try app.options()
        let made = try world.device("localhost", server.url).register(
            begun.options,
            verification: .either,
            reason: "a test"
        )
        let registered = try app.call(
            "POST",
            "/v1/credentials",
            ["ceremonyId": begun.id, "credential": made.json]
        )
        #expect(registered.status == 201, "\(registered.json)")
        #expect(registered.json["assurance"]?.string == "self")
        #expect(registered.json["uvEvidence"]?.string == "flag")
    }

    @Test("the example signs in with the device, reports the typed passcode, and is refused once revoked")
    func example() async throws {
        let bus = try await PrivateBus.start(sensors: [.storage])
        try await Enroller(bus, sensor: .storage).enrol(print: "mine")
        let world = try await DeviceWorld(.certified(1), bus: bus)
        let server = try await SignInServer.start(
            ServerProgram.path,
            roots: try await Self.roots(),
            settings: Self.policy
        )
        let example = Example(keychain: world.keychain)
        let enrolled = try await example.enrol(server)
        #expect(enrolled.status == 0)
        #expect(
            enrolled.output.split(separator: "\n") == [
                "signed in by password: acr pwd, amr pwd pop",
                "offered device sign-in: true",
                "the TPM read the attestation CA's secret, and its attestation key is certified",
                "registered: assurance tpm, evidence of the user tpm_policy",
                "sealed the token under the enrolled fingers",
            ]
        )
        let signedIn = try await example.run("sign-in")
        #expect(signedIn.status == 0)
        #expect(signedIn.output.hasPrefix("signed in by device: acr phrh, amr pop hwk user pin\n"))
        let replayed = try await example.run("replay").output
        #expect(replayed.contains("the same answer again: 410 ceremony_expired"), "\(replayed)")
        #expect(replayed.contains("for another challenge: 401 authentication_failed"), "\(replayed)")
        #expect(!replayed.contains("ACCEPTED"))

        // The finger opens the token, and the session continues.
        try world.keychain.tellPerson([.waits])
        async let renewed = example.run("renew")
        try await VirtualReader(bus, sensor: .storage).scan("mine")
        let renewal = try await renewed
        #expect(renewal.status == 0 && renewal.output.hasPrefix("the token is open"), "\(renewal)")

        #expect(try server.revokeDevices() == 1)
        let refused = try await example.run("sign-in")
        #expect(refused.status == 1 && refused.output.isEmpty)
        try world.keychain.tellPerson([.waits])
        async let late = example.run("renew")
        try await VirtualReader(bus, sensor: .storage).scan("mine")
        let unrenewed = try await late
        #expect(unrenewed.status == 1 && unrenewed.output.isEmpty)
        world.keychain.stop(with: SIGTERM)
        await bus.stop()
    }
}
