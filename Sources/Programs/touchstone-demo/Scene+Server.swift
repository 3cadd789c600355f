import Foundation
import TouchstoneTesting

/// An app on this machine, Examples/DeviceSignIn, and the server it signs in to.
extension Scene {
    /// From the password to a device that signs in by itself, until its registration is revoked.
    mutating func signIn(
        to program: String,
        _ finger: SyntheticFinger,
        stranger: SyntheticFinger,
        passcode: String
    ) async throws {
        transcript.step(
            "Start touchstone-server, which trusts the TPM's manufacturer and requires keys with a known policy"
        )
        let authority = try await SoftwareTPM.authority()
        let server = try await SignInServer.start(
            program,
            roots: [authority.root, authority.issuer],
            settings: ["device-attestation": "policy"]
        )
        transcript.done("\(server.url), one account: \(SignInServer.user)")

        try await enrol(
            finger,
            server,
            label: "DeviceSignIn enrol: password, offer, key attested, token sealed"
        )
        try await renew(finger)
        try await signIn(finger)
        try await replay(finger)
        try await revoke(finger, server)
        try await fallBack(finger, stranger, server, passcode: passcode)
    }

    /// Signs in by password; the TPM attests the key, the server registers it, the token is sealed.
    private mutating func enrol(_ finger: SyntheticFinger, _ server: SignInServer, label: String) async throws
    {
        transcript.step(label)
        let outcome = try await touching(
            finger,
            "enrol",
            server.url,
            SignInServer.user,
            input: SignInServer.password + "\n"
        )
        try expect(outcome, status: 0)
        transcript.quote(outcome.output)
        guard outcome.output.contains("assurance tpm, evidence of the user tpm_policy") else {
            throw Surprise("the server does not know the key for a TPM's")
        }
        transcript.done(
            "the server has proof that the chip holds the key, and of what the chip requires to use it"
        )
    }

    private mutating func renew(_ finger: SyntheticFinger) async throws {
        transcript.step("The app starts again: DeviceSignIn renew, and touch the sensor")
        let outcome = try await touching(finger, "renew")
        try expect(outcome, status: 0)
        transcript.quote(outcome.output)
        transcript.done("the finger opened the token, the TPM's session key renewed it")
    }

    private mutating func signIn(_ finger: SyntheticFinger) async throws {
        transcript.step("DeviceSignIn sign-in, and touch the sensor")
        let outcome = try await touching(finger, "sign-in")
        try expect(outcome, status: 0)
        transcript.quote(outcome.output)
        guard outcome.output.contains("acr phrh, amr pop hwk user fpt") else {
            throw Surprise("no session by finger and hardware: \(outcome.output)")
        }
        transcript.done("a session, by an assertion that the finger released")
    }

    private mutating func replay(_ finger: SyntheticFinger) async throws {
        transcript.step("An eavesdropper sends the same assertion again")
        let outcome = try await touching(finger, "replay")
        try expect(outcome, status: 0)
        let lines = outcome.output.split(separator: "\n")
        guard lines.contains(where: { $0.hasPrefix("the same answer again: 410 ceremony_expired") }),
            lines.contains(where: { $0.hasPrefix("for another challenge: 401 authentication_failed") })
        else { throw Surprise("a replay was not refused: \(outcome.output)") }
        for line in lines.suffix(2) { transcript.quote(String(line)) }
        transcript.done("refused, for the same challenge and for another")
    }

    private mutating func revoke(_ finger: SyntheticFinger, _ server: SignInServer) async throws {
        transcript.step(
            "The owner says that the device is lost, and an administrator of the server revokes it"
        )
        guard try server.revokeDevices() == 1 else { throw Surprise("there was another number of devices") }
        transcript.done("revoked")

        transcript.step("DeviceSignIn sign-in, and DeviceSignIn renew, each with the right finger")
        let refused = try await touching(finger, "sign-in")
        try expect(refused, status: 1, output: "")
        let unrenewed = try await touching(finger, "renew")
        try expect(unrenewed, status: 1, output: "")
        guard refused.error.hasPrefix("401 authentication_failed"),
            unrenewed.error.hasPrefix("400 invalid_grant")
        else { throw Surprise("refused otherwise: \(refused.error), \(unrenewed.error)") }
        transcript.done("refused: \(refused.error); \(unrenewed.error)")
    }

    private mutating func fallBack(
        _ finger: SyntheticFinger,
        _ stranger: SyntheticFinger,
        _ server: SignInServer,
        passcode: String
    ) async throws {
        try await enrol(
            finger,
            server,
            label: "DeviceSignIn enrol: the device is enrolled again, by password"
        )
        transcript.step("DeviceSignIn sign-in: a stranger's finger five times, then the passcode")
        let pictures = (0..<5).map { stranger.impression($0) }
        let bus = bus
        let outcome = try await shell.run(program: "DeviceSignIn", ["sign-in"]) { terminal in
            let reader = VirtualReader(bus)
            for (number, picture) in pictures.enumerated() {
                try await reader.touch(picture)
                if number < 4 { try await terminal.wait(for: "No match.") }
            }
            try await terminal.wait(for: "Passcode:")
            terminal.type(passcode)
            terminal.press(.enter)
        }
        try expect(outcome, status: 0)
        transcript.quote(outcome.output)
        guard outcome.output.contains("amr pop hwk user pin") else {
            throw Surprise("the server was not told of the passcode: \(outcome.output)")
        }
        transcript.done("a session; the server knows that the passcode was used")
    }

    /// Runs the app while the finger touches the sensor whenever the app needs it.
    private mutating func touching(
        _ finger: SyntheticFinger,
        _ arguments: String...,
        input: String? = nil
    ) async throws -> Shell.Outcome {
        let picture = next(of: finger)
        let bus = bus
        return try await shell.run(program: "DeviceSignIn", arguments, input: input) { terminal in
            try await terminal.wait(for: "ouch the fingerprint sensor")
            try await VirtualReader(bus).touch(picture)
        }
    }
}
