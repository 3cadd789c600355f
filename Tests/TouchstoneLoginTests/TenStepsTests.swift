import Foundation
import LoopbackHTTP
import Testing
import Touchstone
import TouchstoneTesting
import WebAuthnModel

@testable import TouchstoneLogin

@Suite("Signing in with the server program", .server, .serialized, .timeLimit(.minutes(20)))
struct TenStepsTests {
    /// The challenge and assurance in the client data of an assertion seen by the relay.
    private func signedClientData(_ exchange: Relay.Exchange) throws -> JSONObject {
        let body = try #require(try JSONValue(parsing: Array(exchange.body.utf8)).object)
        let response = body["credential"]?.object?["response"]?.object
        let bytes = try #require(response?["clientDataJSON"]?.bytes)
        return try #require(try JSONValue(parsing: bytes).object)
    }

    @Test("the ten steps, with a software key and with a TPM", arguments: [false, true])
    func tenSteps(hasChip: Bool) async throws {
        let world = try await LoginWorld(
            chip: hasChip ? .prepared() : nil,
            settings: hasChip ? ["endorsement": "any", "device-attestation": "policy"] : [:]
        )
        let keychain = world.keychain
        try await keychain.use {
            // 1 to 4: a form, the password to the server, a session.
            var login = world.login()
            #expect(try await login.state() == .signedOut)
            let wrong = await failure { () async throws(TouchstoneError) in
                try await login.signIn(user: SignInServer.user, password: "wrong horse")
            }
            #expect(wrong == .wrongPassword && wrong?.cause == "authentication_failed", "\(wrong as Any)")
            #expect(wrong?.nextStep == .retry)
            // The right one at once, then.
            let first = try await world.session(login)
            #expect(first.user == SignInServer.user && first.assurance.facts.isEmpty)
            let access = try await first.accessToken()
            #expect(try world.call("GET", "/v1/me", access)["username"]?.string == SignInServer.user)
            #expect(try await world.kept(login).isEmpty, "signing in keeps nothing")
            #expect(keychain.prompts.isEmpty)

            // 5 and 6: the offer, and the user's consent in a single prompt.
            let offer = try #require(try await first.offer())
            let device = try await offer.accept(label: "Laptop", "Sign in by finger from now on")
            #expect(keychain.prompts.map(\.reason) == ["Sign in by finger from now on"])
            #expect(device.isThisDevice && device.label == "Laptop")
            #expect(try await first.offer() == nil)
            #expect(try await first.devices() == [device])
            let registered = try world.call("GET", "/v1/credentials/\(device.id)", access)
            #expect(registered["assurance"]?.string == (hasChip ? "tpm" : "self"))
            #expect(registered["uvEvidence"]?.string == (hasChip ? "tpm_policy" : "flag"))
            // What was shown, and what the device is, were signed with it.
            let consent = registered["consent"]?.object
            #expect(consent?["text"]?.array == ["Sign in by finger from now on"])
            #expect(consent?["label"]?.string == "Laptop" && consent?["rule"]?.string == "\(login.rule)")
            let time = try #require(consent?["time"]?.integer)
            #expect(abs(Double(time) - Date().timeIntervalSince1970) < 600)
            let kept = registered["statement"]?.object
            #expect(kept?["enrolment"]?.bytes?.count == 32)
            #expect(kept?["reader"]?.object?["name"]?.string?.isEmpty == false)
            #expect((kept?["tpm"]?.object?["firmware"]?.string != nil) == hasChip)
            let firstCount: Int64 = hasChip ? 0 : 1
            #expect(registered["signCount"]?.integer == firstCount)
            #expect(try await world.kept(login) == ["device", "refresh"])

            // 7: the app is restarted, and knows its device without a prompt or the server.
            login = world.login()
            let requests = world.relay.exchanges.count
            #expect(try await login.state() == .ready(device))
            #expect(world.relay.exchanges.count == requests && keychain.prompts.count == 1)

            // 8 and 9: the finger, and the server's challenge signed with the assurance.
            let second = try await login.signIn("Sign in to Example")
            #expect(
                keychain.prompts.map(\.reason).last == "Sign in to Example" && keychain.prompts.count == 2
            )
            #expect(second.user == SignInServer.user)
            #expect(second.assurance.facts == [.keyBound, .perUse, .currentSet])
            #expect(second.assurance.method == .fingerprint && second.assurance.level == .test)
            let exchange = try #require(world.relay.exchanges.last { $0.path == "/v1/login" })
            let stated = try signedClientData(exchange)["touchstone"]?.object
            #expect(stated?["facts"]?.array == ["currentSet", "keyBound", "perUse"])
            #expect(stated?["method"]?.string == "fingerprint" && stated?["level"]?.string == "test")
            #expect(stated?["enrolment"] == kept?["enrolment"])
            let firmware = stated?["tpm"]?.object?["firmware"]?.string
            #expect(firmware == kept?["tpm"]?.object?["firmware"]?.string)
            #expect(stated?["reader"]?.object?["grade"]?.string != nil)
            let me = try world.call("GET", "/v1/me", try await second.accessToken())
            #expect(
                me["amr"]?.array?.contains("fpt") == true && me["acr"]?.string == (hasChip ? "phrh" : "phr")
            )

            // 10: the stored token, for the same session.
            let third = try await world.login().resume("Open your session")
            #expect(keychain.prompts.count == 3)
            let resumed = try await third.accessToken()
            #expect(try await second.accessToken() != resumed)
            #expect(try world.call("GET", "/v1/me", resumed)["sessionId"] == me["sessionId"])
            // A copied token is useless without this device's key.
            let token = try await world.tokens(third.account)
                .read("refresh", as: String.self, with: "a test")
            let stolen = try world.server.api.send(
                "POST",
                "/v1/token",
                headers: ["Content-Type": "application/x-www-form-urlencoded"],
                body: Array("grant_type=refresh_token&refresh_token=\(token)".utf8)
            )
            #expect(stolen.status == 400)

            // Signing out ends the session on both sides; the device stays.
            try await third.signOut()
            #expect(
                await failure { () async throws(TouchstoneError) in try await third.accessToken() }
                    == .sessionEnded
            )
            #expect(
                await failure { () async throws(TouchstoneError) in try await second.devices() }?
                    .isEndOfSession == true
            )
            #expect(
                await failure { () async throws(TouchstoneError) in try await login.resume("No") }?.code
                    == .notFound
            )
            #expect(try await login.state() == .ready(device))
            let last = try await login.signIn("Once more")
            #expect(try await last.devices().map(\.id) == [device.id])
            #expect(try await last.devices().first?.lastUsed != nil)
            // Each signature has a number of its own: of the registration, unless the chip attested it, and of two sign-ins.
            let counted = try world.call("GET", "/v1/credentials/\(device.id)", try await last.accessToken())
            #expect(counted["signCount"]?.integer == firstCount + 2)
        }
    }
}
