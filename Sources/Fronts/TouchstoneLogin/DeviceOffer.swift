internal import Foundation
public import Touchstone
internal import WebAuthnDevice
internal import WebAuthnModel

/// An offer to the user: to sign in by this device from now on.
public struct DeviceOffer: Sendable {
    let session: LoginSession

    /// Sets this device up, after one prompt: step 6.
    ///
    /// Accepting is the user's consent.
    /// After a change of fingers the passcode is asked for first.
    ///
    /// Registers a key with the server, attested by the device's TPM where there is one that the server trusts (`tpm`), else
    /// by itself (`packed`), and seals the session's refresh token under the rule. It replaces a key of this device that was
    /// invalidated. All of it or nothing: what the server did not confirm is not kept. From the prompt's end on, cancelling
    /// the task does not end it.
    ///
    /// - Parameters:
    ///   - label: What the user calls the device: 1 to 128 bytes without control characters.
    ///   - prompt: What the prompt says.
    /// - Returns: the device.
    /// - Throws: `TouchstoneError`: `stepUpNeeded` where the user did not authenticate just now, `hardwareTooWeak` where the
    ///   server wants a better device, `unsupported` for a rule that asks nobody, those of a prompt and of a server.
    public func accept(label: String, _ prompt: PromptText) async throws(TouchstoneError) -> LoginDevice {
        guard 1...128 ~= label.utf8.count,
            !label.unicodeScalars.contains(where: { $0.properties.generalCategory == .control })
        else {
            throw TouchstoneError(.limitExceeded, details: ["label: 1 to 128 bytes, no control characters"])
        }
        return try await session.setUp(label: label, prompt)
    }
}

extension LoginSession {
    /// Registers this device and keeps what is needed to use it.
    fileprivate func setUp(
        label: String,
        _ prompt: PromptText
    ) async throws(TouchstoneError) -> LoginDevice {
        let keys = client.keys
        let former = try await client.store.find(.standard)
        try await confirmFingers(prompt)
        let begun = try await call(
            "POST",
            "/v1/credentials/options",
            ["kind": "device", "label": .string(label)]
        )
        let ceremony = try Ceremony(begun, from: client.api)
        let options = try onDevice { () throws(DeviceError) in
            try CreationOptions(parsing: ceremony.publicKey)
        }
        let certificates = options.wantsAttestation ? try await attestationCertificates() : []
        let made = try await keys.register(options, client.rule, certificates: certificates, prompt)
        let record = DeviceRecord(
            user: user,
            label: label,
            rule: client.rule.description,
            id: made.id,
            credential: made.credential,
            proofKey: proofKey
        )
        // From here on the server may know the key, so it is seen to the end.
        let end = Task { () -> Result<Void, TouchstoneError> in
            do throws(TouchstoneError) {
                do throws(TouchstoneError) {
                    try await confirm(ceremony, made, label)
                } catch {
                    // Should the server have the key after all, it is told to remove it at the next sign-in.
                    if error.isWithoutAnswer { try? await client.store.forget(user, record.device.id) }
                    throw error
                }
                try await keep(record, former)
                return .success(())
            } catch {
                return .failure(error)
            }
        }
        try await end.value.get()
        noteSetUp()
        return record.device
    }

    /// Asks for the passcode where no finger counts before it, such as after a change of fingers: whoever enrolled the new one
    /// has to know it.
    private func confirmFingers(_ prompt: PromptText) async throws(TouchstoneError) {
        let keychain = client.keys.keychain
        guard let demand = client.rule.promptedFactors, !demand.contains(.passcode),
            try await keychain.capability(for: demand).obstacle?.code == .lockedOutUntilPasscode
        else { return }
        try await keychain.authenticate(prompt, using: .passcode).end()
    }

    /// Has the server take the key; where its answer was lost, asks whether it did.
    private func confirm(
        _ ceremony: Ceremony,
        _ made: DeviceKeys.Made,
        _ label: String
    ) async throws(TouchstoneError) {
        let id = Base64URL.encode(made.id)
        let answer: JSONObject
        do throws(TouchstoneError) {
            answer = try await call(
                "POST",
                "/v1/credentials",
                [
                    "ceremonyId": .string(ceremony.id), "credential": made.response,
                    "label": .string(label),
                ],
                isBound: true
            )
        } catch {
            guard error.isWithoutAnswer, let found = try? await call("GET", "/v1/credentials/\(id)") else {
                throw error
            }
            answer = found
        }
        guard answer["id"]?.string == id else { throw .badReply("id") }
    }

    /// Keeps what the server confirmed; what cannot be kept is taken back.
    private func keep(_ record: DeviceRecord, _ former: DeviceRecord?) async throws(TouchstoneError) {
        var isWritten = false
        do throws(TouchstoneError) {
            guard let token = refreshToken else { throw TouchstoneError(.refused, cause: "signedOut") }
            try await client.store.write(record)
            isWritten = true
            try await client.store.seal(token)
        } catch {
            // A record that could not be written left the former one as it was.
            if isWritten { try? await client.store.delete() }
            await giveUp(record)
            throw error
        }
        // The server suspends the former key of the same device by itself; this ends it.
        if let former, former.id != record.id { await giveUp(former) }
    }

    /// Has the server end a key that is not kept here any more; where it cannot be told now, at the next sign-in by password.
    private func giveUp(_ record: DeviceRecord) async {
        let id = record.device.id
        let isTold = record.user == user ? (try? await call("DELETE", "/v1/credentials/\(id)")) != nil : false
        if !isTold { try? await client.store.forget(record.user, id) }
    }

    /// Has the server's CA certify this chip's attestation key; none without a chip, and for a chip that it does not trust.
    private func attestationCertificates() async throws(TouchstoneError) -> [[UInt8]] {
        guard let enrolment = try await client.keys.beginAttestation() else { return [] }
        do throws(TouchstoneError) {
            let begun = try await call("POST", "/v1/attestation/ak", enrolment.request)
            guard let id = begun["id"]?.string, Base64URL.decode(id) != nil else { throw .badReply("id") }
            let secret = try await client.keys.activate(enrolment, begun)
            let answer = try await call("POST", "/v1/attestation/ak/\(id)", secret)
            return try onDevice { () throws(DeviceError) in
                try AttestationEnrolment.certificates(.object(answer))
            }
        } catch {
            // Whether it takes a key that nobody vouches for is the server's to say.
            guard error.code == .hardwareTooWeak || error.cause == "attestation_rejected" else { throw error }
            return []
        }
    }
}

extension TouchstoneError {
    /// Whether a request may have done its work although no answer came.
    fileprivate var isWithoutAnswer: Bool {
        [.unreachable, .timedOut, .badReply].contains(code)
    }
}
