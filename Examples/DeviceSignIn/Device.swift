import Foundation
import WebAuthnDevice
import WebAuthnModel

/// A device that signs in to an account without its password.
struct Device {
    /// An error on the device's side.
    struct Failure: LocalizedError {
        let errorDescription: String?
        init(_ words: String) { errorDescription = words }
    }

    let service: Service
    let credential: DeviceCredential
    let authenticator: DeviceAuthenticator

    private static func authenticator(_ url: String) -> DeviceAuthenticator {
        DeviceAuthenticator(relyingParty: "localhost", origin: url)
    }

    /// The device stored by ``enrol(url:user:password:)``.
    static func kept() throws -> Device {
        let text = try Vault.read("device", prompt: "find your account")
        guard let members = try JSONValue(parsing: Array(text)).object, let url = members["url"]?.string,
            let key = members["proofKey"]?.bytes, let credential = members["credential"]?.bytes,
            let service = Service(url: url, proofKey: try ProofKey(parsing: key))
        else { throw Failure("what was kept cannot be read") }
        return Device(
            service: service,
            credential: try DeviceCredential(parsing: credential),
            authenticator: authenticator(url)
        )
    }

    /// Signs in with the password, and sets up this device to sign in without it.
    static func enrol(url: String, user: String, password: String) throws -> Device {
        let proofKey = try ProofKey(reason: "make a session key")
        guard let service = Service(url: url, proofKey: proofKey) else {
            throw Failure("the address has to be http://localhost:PORT")
        }
        let tokens = try service.call(
            "POST",
            "/v1/login/password",
            ["username": .string(user), "password": .string(password), "client": "DeviceSignIn"],
            bound: true
        )
        try service.take(tokens)
        say("signed in by password: \(summary(tokens))")
        say("offered device sign-in: \(tokens["offerDeviceLogin"] == true)")

        let certificates = try certificates(service)
        let begun = try service.call(
            "POST",
            "/v1/credentials/options",
            ["kind": "device", "label": "This computer"],
            bound: true
        )
        let authenticator = authenticator(url)
        let made = try authenticator.register(
            try CreationOptions(parsing: begun["publicKey"]),
            verification: .either,
            certificates: certificates,
            reason: "sign in with this computer"
        )
        let registered = try service.call(
            "POST",
            "/v1/credentials",
            ["ceremonyId": begun["ceremonyId"], "credential": made.json],
            bound: true
        )
        say(
            "registered: assurance \(registered["assurance"].string ?? "?"), "
                + "evidence of the user \(registered["uvEvidence"].string ?? "?")"
        )
        let device = Device(service: service, credential: made.credential, authenticator: authenticator)
        let kept: JSONValue = [
            "url": .string(url), "proofKey": JSONValue(base64URL: proofKey.encoded),
            "credential": JSONValue(base64URL: made.credential.encoded),
        ]
        try Vault.keep(Data(kept.json), as: "device", isSealed: false)
        try seal(tokens)
        return device
    }

    /// Gets this TPM's attestation key certified by the server's CA; no certificates if there is no TPM.
    private static func certificates(_ service: Service) throws -> [[UInt8]] {
        let enrolment: AttestationEnrolment
        do {
            enrolment = try AttestationEnrolment()
        } catch {
            guard error.isWithoutChip else { throw error }
            say("no TPM: the key will be kept by software")
            return []
        }
        let begun = try service.call("POST", "/v1/attestation/ak", enrolment.request)
        let secret = try enrolment.activate(begun)
        let answer = try service.call("POST", "/v1/attestation/ak/\(begun["id"].string ?? "")", secret)
        say("the TPM read the attestation CA's secret, and its attestation key is certified")
        return try AttestationEnrolment.certificates(answer)
    }

    // MARK: Sessions

    /// Reads the token, which asks for the finger, renews the session, and keeps the token's successor.
    func renew() throws {
        let token = try Vault.read("token", prompt: "open your session")
        let tokens = try service.renew(String(decoding: token, as: UTF8.self))
        try service.take(tokens)
        Self.say("the token is open, the session renewed: \(Self.summary(tokens))")
        try Self.seal(tokens)
    }

    /// Signs in with the device's key.
    ///
    /// - Returns: the request's body.
    @discardableResult
    func signIn() throws -> JSONValue {
        let begun = try service.call("POST", "/v1/login/options", [:])
        let body = try answer(begun)
        let tokens = try service.call("POST", "/v1/login", body, bound: true)
        try service.take(tokens)
        Self.say("signed in by device: \(Self.summary(tokens))")
        try Self.seal(tokens)
        return body
    }

    private func answer(_ begun: JSONValue) throws -> JSONValue {
        let signed = try authenticator.assert(
            try RequestOptions(parsing: begun["publicKey"]),
            by: credential,
            reason: "sign in"
        )
        return ["ceremonyId": begun["ceremonyId"], "credential": signed.json]
    }

    /// Signs in, then replays as an eavesdropper would: sends the same answer again, also for a new challenge.
    func replay() throws {
        let body = try signIn()
        service.access = nil
        refuse("the same answer again") { try service.call("POST", "/v1/login", body, bound: true) }
        let begun = try service.call("POST", "/v1/login/options", [:])
        let late: JSONValue = ["ceremonyId": begun["ceremonyId"], "credential": body["credential"]]
        refuse("for another challenge") { try service.call("POST", "/v1/login", late, bound: true) }
    }

    private func refuse(_ what: String, _ call: () throws -> JSONValue) {
        do {
            _ = try call()
            Self.say("\(what): ACCEPTED")
        } catch {
            Self.say("\(what): \(error.localizedDescription)")
        }
    }

    private static func seal(_ tokens: JSONValue) throws {
        guard let token = tokens["refresh_token"].string else { throw Failure("the server gave no token") }
        try Vault.keep(Data(token.utf8), as: "token", isSealed: true)
        say("sealed the token under the enrolled fingers")
    }

    private static func summary(_ tokens: JSONValue) -> String {
        let methods = tokens["amr"].array?.compactMap(\.string).joined(separator: " ") ?? "?"
        return "acr \(tokens["acr"].string ?? "?"), amr \(methods)"
    }

    private static func say(_ line: String) { print(line) }
}

extension Service {
    func take(_ tokens: JSONValue) throws {
        guard let token = tokens["access_token"].string else {
            throw Device.Failure("the server gave no token")
        }
        access = token
    }
}

extension JSONValue {
    /// A member; null if there is none.
    subscript(name: String) -> JSONValue { object?[name] ?? .null }
}
