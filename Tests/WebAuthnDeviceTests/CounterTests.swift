import CBOR
import Crypto
import Foundation
import KeychainClient
import KeychainModel
import LoopbackHTTP
import Testing
import TouchstoneTesting
import WebAuthnDevice
import WebAuthnModel

@Suite("The counter of a device", .timeLimit(.minutes(20)))
struct CounterTests {
    @Test("a credential of an earlier version signs on, with the counter 0")
    func earlier() async throws {
        let world = try await DeviceWorld(nil)
        let control = try AccessControl(
            accessibility: .whenUnlockedThisDeviceOnly,
            flags: [.devicePasscode, .privateKeyUsage]
        )
        let prompt = world.keychain.prompt()
        let key = try world.keychain.client.makeKey(MakeKey(accessControl: control, prompt: prompt))
        #expect(!key.isCounted)
        let credential = try DeviceCredential(
            parsing: CBORValue.array([
                .unsigned(1), .bytes([9]), .text(DeviceWorld.relyingParty), .bytes([7]),
                .bytes(key.representation),
            ]).encoded()
        )
        for _ in 0..<2 {
            let signed = try world.device().assert(
                try RequestOptions(parsing: DeviceWorld.request()),
                by: credential,
                reason: "a test"
            )
            #expect(try AuthenticatorData(parsing: signed.authenticatorData).signCount == 0)
            let publicKey = try P256.Signing.PublicKey(x963Representation: key.publicKey)
            #expect(
                publicKey.isValidSignature(
                    try .init(derRepresentation: signed.signature),
                    for: signed.authenticatorData + Array(SHA256.hash(data: signed.clientDataJSON))
                )
            )
        }
    }

    @Test("without an attestation the first signature is that of the first sign-in")
    func unattested() async throws {
        let world = try await DeviceWorld(nil)
        let made = try world.register(attestation: "none")
        #expect(try ReadRegistration(made).data.signCount == 0)
        let signed = try world.device().assert(
            try RequestOptions(parsing: DeviceWorld.request()),
            by: made.credential,
            reason: "a test"
        )
        #expect(try AuthenticatorData(parsing: signed.authenticatorData).signCount == 1)
    }

    @Test(
        "a keychain without a TPM that was put back signs an old number, and the server suspends its key",
        .server
    )
    func restored() async throws {
        let world = try await DeviceWorld(nil)
        let server = try await SignInServer.start(ServerProgram.path, settings: ["password-cost": "10,8,1"])
        let app = try SignedInApp(server, world.keychain.client)
        let device = world.device("localhost", server.url)
        let begun = try app.options()
        let made = try device.register(begun.options, verification: .passcode, reason: "a test")
        let body: JSONValue = ["ceremonyId": begun.id, "credential": made.json]
        let registered = try app.call("POST", "/v1/credentials", body)
        #expect(registered.status == 201 && registered.json["signCount"]?.integer == 1, "\(registered.json)")
        func signIn() throws -> Int {
            let options = try app.call("POST", "/v1/login/options", [:])
            let request = try RequestOptions(parsing: options.json["publicKey"] ?? .null)
            let signed = try device.assert(request, by: made.credential, reason: "a test")
            let body: JSONValue = [
                "ceremonyId": options.json["ceremonyId"] ?? .null, "credential": signed.json,
            ]
            return try app.call("POST", "/v1/login", body).status
        }
        #expect(try signIn() == 200)
        let (directory, copy) = (world.keychain.layout.dataDirectory, world.keychain.home.appending("copy"))
        world.keychain.stop(with: SIGTERM)
        try FileManager.default.copyItem(atPath: directory, toPath: copy)
        try await world.keychain.start()
        try world.keychain.unlock()
        #expect(try signIn() == 200)
        world.keychain.stop(with: SIGTERM)
        try FileManager.default.removeItem(atPath: directory)
        try FileManager.default.moveItem(atPath: copy, toPath: directory)
        try await world.keychain.start()
        try world.keychain.unlock()
        #expect(try signIn() == 401, "the number 3 was used")
        let id = Base64URL.encode(made.credential.id)
        let suspended = try app.call("GET", "/v1/credentials/\(id)", nil)
        #expect(suspended.json["suspension"]?.string == "cloned_counter", "\(suspended.json)")
        // Its owner, signed in otherwise, restores it, and the next number is the new beginning.
        #expect(try app.call("POST", "/v1/credentials/\(id)/restore", nil).status == 200)
        #expect(try signIn() == 200)
    }
}
