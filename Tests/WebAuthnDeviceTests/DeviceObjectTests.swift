import CBOR
import Crypto
import Foundation
import KeychainClient
import KeychainModel
import Testing
import TouchstoneTesting
import WebAuthnDevice
import WebAuthnModel

@Suite("Registrations and assertions of a device", .timeLimit(.minutes(20)))
struct DeviceObjectTests {
    @Test(
        "a credential is created and signs after the passcode, with a software key and with a TPM",
        arguments: [nil, SoftwareTPM.Chip.blank]
    )
    func life(chip: SoftwareTPM.Chip?) async throws {
        let world = try await DeviceWorld(chip)
        let made = try world.register()
        let registration = try ReadRegistration(made)
        #expect(registration.format == "packed" && registration.statement.count == 2)
        let signature = try P256.Signing.ECDSASignature(derRepresentation: registration.bytes("sig"))
        #expect(registration.key.isValidSignature(signature, for: registration.signed))
        #expect(registration.clientData.type == "webauthn.create")
        #expect(registration.clientData.challenge == Array(0..<32))
        #expect(registration.clientData.origin == DeviceWorld.origin)
        #expect(registration.data.rpIdHash == Array(SHA256.hash(data: Data(DeviceWorld.relyingParty.utf8))))
        #expect(
            registration.data.flags == [.userPresent, .userVerified, .attestedCredentialData, .extensionData]
        )
        #expect(registration.data.signCount == 1, "the registration is the key's first signature")
        let protection: UInt64 = chip == nil ? 1 : 2
        #expect(registration.data.methods == [[4, protection, 1]])
        #expect(registration.data.attestedCredentialData?.aaguid == DeviceAuthenticator.aaguid)
        #expect(registration.data.attestedCredentialData?.credentialId == made.credential.id)
        #expect(made.keyPolicy == nil)

        // The app's stored data restores the key, also after a restart of the daemon.
        let credential = try DeviceCredential(parsing: made.credential.encoded)
        #expect(credential == made.credential && credential.userHandle == [7, 7, 7])
        world.keychain.stop(with: SIGTERM)
        try await world.keychain.start()
        try world.keychain.unlock()
        let before = world.keychain.prompts
        let signed = try world.device().assert(
            try RequestOptions(parsing: DeviceWorld.request(allowed: [[1], credential.id])),
            by: credential,
            reason: "a test"
        )
        #expect(world.keychain.prompts == before + 1, "one prompt for one signature")
        let data = try AuthenticatorData(parsing: signed.authenticatorData)
        #expect(data.flags == [.userPresent, .userVerified, .extensionData])
        #expect(data.methods == [[4, protection, 1]])
        #expect(data.signCount == 2 && data.rpIdHash == registration.data.rpIdHash)
        let clientData = try CollectedClientData(parsing: signed.clientDataJSON)
        #expect(clientData.type == "webauthn.get" && clientData.challenge == Array(32..<64))
        let message = signed.authenticatorData + Array(SHA256.hash(data: signed.clientDataJSON))
        #expect(
            registration.key.isValidSignature(
                try P256.Signing.ECDSASignature(derRepresentation: signed.signature),
                for: message
            )
        )
        #expect(signed.json.object?["response"]?.object?["userHandle"]?.bytes == [7, 7, 7])
    }

    @Test("a registration shows one prompt, also with a TPM, which does not count for the next call")
    func prompts() async throws {
        let world = try await DeviceWorld(.blank)
        let before = world.keychain.prompts
        let credential = try world.register().credential
        #expect(world.keychain.prompts == before + 1)
        try world.keychain.tellPerson([.cancels])
        let options = try RequestOptions(parsing: DeviceWorld.request())
        let error = #expect(throws: DeviceError.self) {
            try world.device().assert(options, by: credential, reason: "a test")
        }
        #expect(error == .keychain(KeychainError(.userCanceled)))
        #expect(world.keychain.prompts == before + 2)
        try world.keychain.tellPerson([.cancels])
        #expect(throws: DeviceError.keychain(KeychainError(.userCanceled))) { try world.register() }
    }

    @Test("UV is never set for a key that requires nothing, whatever the app's stored data says")
    func unverified() async throws {
        let world = try await DeviceWorld(nil)
        let key = try world.keychain.client.makeKey(
            MakeKey(
                accessControl: AccessControl(accessibility: .whenUnlockedThisDeviceOnly),
                prompt: world.keychain.prompt()
            )
        )
        let credential = try world.register().credential
        guard case .array(var parts) = try CBORValue(decoding: credential.encoded) else { return }
        parts[4] = .bytes(key.representation)
        let forged = try DeviceCredential(parsing: CBORValue.array(parts).encoded())
        let options = try RequestOptions(parsing: DeviceWorld.request())
        let signed = try world.device().assert(options, by: forged, reason: "a test")
        let data = try AuthenticatorData(parsing: signed.authenticatorData)
        #expect(data.flags == .userPresent)
        #expect(data.extensions == nil)
    }

    @Test("without a request for attestation, also with the member missing, the format is none")
    func unattested() async throws {
        let world = try await DeviceWorld(.blank)
        for attestation in ["none", nil] {
            let registration = try ReadRegistration(try world.register(attestation: attestation))
            #expect(registration.format == "none" && registration.statement.isEmpty)
        }
    }

    @Test("other relying parties, algorithms and credentials are refused without a prompt")
    func refusals() async throws {
        let world = try await DeviceWorld(nil)
        let credential = try world.register().credential
        let before = world.keychain.prompts
        let device = world.device()
        func register(_ json: JSONValue) throws {
            let options = try CreationOptions(parsing: json)
            _ = try device.register(options, verification: .passcode, held: [credential], reason: "a test")
        }
        func sign(_ json: JSONValue, _ device: DeviceAuthenticator) throws {
            _ = try device.assert(try RequestOptions(parsing: json), by: credential, reason: "a test")
        }
        #expect(throws: DeviceError.otherRelyingParty("evil.org")) {
            try register(DeviceWorld.creation(relyingParty: "evil.org"))
        }
        #expect(throws: DeviceError.algorithm) { try register(DeviceWorld.creation(algorithms: [-257])) }
        #expect(throws: DeviceError.credentialExists) {
            try register(DeviceWorld.creation(excluded: [[1], credential.id]))
        }
        #expect(throws: DeviceError.otherRelyingParty("evil.org")) {
            try sign(DeviceWorld.request(relyingParty: "evil.org"), device)
        }
        #expect(throws: DeviceError.otherRelyingParty(DeviceWorld.relyingParty)) {
            try sign(DeviceWorld.request(relyingParty: "evil.org"), world.device("evil.org"))
        }
        #expect(throws: DeviceError.credentialNotAllowed) {
            try sign(DeviceWorld.request(allowed: [[1]]), device)
        }
        #expect(throws: DeviceError.options("challenge")) { try register(DeviceWorld.creation([1, 2, 3])) }
        #expect(throws: DeviceError.options("publicKey")) { try register("text") }
        #expect(world.keychain.prompts == before)
        for count in [0, 1, credential.encoded.count - 1] {
            #expect(throws: DeviceError.damaged) {
                try DeviceCredential(parsing: Array(credential.encoded.prefix(count)))
            }
        }
        // A key of another keybag.
        let other = try await DeviceWorld(nil)
        let error = #expect(throws: DeviceError.self) {
            let options = try RequestOptions(parsing: DeviceWorld.request())
            _ = try other.device().assert(options, by: credential, reason: "a test")
        }
        #expect(error == .keychain(KeychainError(.decode)))
    }

    @Test(
        "UV methods distinguish finger and passcode, and another enrolled finger invalidates the key",
        .enabled(if: FileManager.default.isExecutableFile(atPath: "/usr/libexec/fprintd"), "no fprintd")
    )
    func finger() async throws {
        let bus = try await PrivateBus.start(sensors: [.storage])
        try await Enroller(bus, sensor: .storage).enrol(print: "mine")
        let world = try await DeviceWorld(nil, bus: bus)
        let reader = VirtualReader(bus, sensor: .storage)
        // A touch alone is enough only where the passcode was typed before.
        let display = try DisplaySocket()
        try world.keychain.client.lock()
        try world.keychain.client.unlock(world.keychain.prompt(on: display))
        let device = world.device(place: world.keychain.prompt(on: display).origin)
        func registered(_ verification: UserVerification) async throws -> DeviceCredential {
            try world.keychain.tellPerson([.waits])
            async let made = apart {
                try device.register(
                    try CreationOptions(parsing: DeviceWorld.creation()),
                    verification: verification,
                    reason: "a test"
                )
            }
            try await reader.scan("mine")
            let response = try await made
            #expect(try ReadRegistration(response).data.methods == [[2, 1, 1]])
            return response.credential
        }
        let byFinger = try await registered(.finger)
        let byEither = try await registered(.either)
        let options = try RequestOptions(parsing: DeviceWorld.request())
        try world.keychain.tellPerson([.waits])
        async let signed = apart { try device.assert(options, by: byFinger, reason: "a test") }
        try await reader.scan("mine")
        #expect(try AuthenticatorData(parsing: try await signed.authenticatorData).methods == [[2, 1, 1]])
        // The fallback button, then the passcode.
        let fallen = try await apart { try device.assert(options, by: byEither, reason: "a test") }
        #expect(try AuthenticatorData(parsing: fallen.authenticatorData).methods == [[4, 1, 1]])

        try await Enroller(bus, sensor: .storage).enrol(print: "other", as: "left-index-finger")
        let error = await #expect(throws: DeviceError.self) {
            _ = try await apart { try device.assert(options, by: byFinger, reason: "a test") }
        }
        guard case .keychain(let cause) = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(cause.error.status == .itemNotFound && cause.error.cause == .invalidated, "\(cause)")
        world.keychain.stop(with: SIGTERM)
        await bus.stop()
    }

    /// Runs a blocking closure on its own thread.
    private func apart<R: Sendable>(_ body: @escaping @Sendable () throws -> R) async throws -> R {
        try await withCheckedThrowingContinuation { continuation in
            Thread.detachNewThread { continuation.resume(with: Result { try body() }) }
        }
    }
}
