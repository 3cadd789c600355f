internal import Foundation
public import Touchstone
internal import WebAuthnDevice
internal import WebAuthnModel

/// An offer to the user: to sign in with this device from now on.
public struct DeviceOffer: Sendable {
    let session: LoginSession
    /// This device as it is set up now, whose key another takes the place of; nil if it is not set up for the account.
    public let replaces: LoginDevice?

    /// Sets this device up for sign-in, after one prompt: step 6.
    ///
    /// Calling this method is the user's consent: the text of the prompt, the label, the rule and the time are signed with the
    /// registration, and the server keeps them. After a change of the enrolled fingers the passcode is asked for first.
    ///
    /// Registers a key with the server and seals the session's refresh token under the rule. The attestation is made by the
    /// device's TPM if the server trusts it (`tpm`), otherwise by the key itself (`packed`). A key that this device has for the
    /// account is replaced (``replaces``); the keys of other accounts stay. The set-up is atomic: nothing is kept unless the server
    /// confirmed it, and whenever it is interrupted, either the former key or the new one signs in. Once the prompt has ended,
    /// cancelling the task has no effect.
    ///
    /// - Parameters:
    ///   - label: The user's name for the device: 1 to 128 bytes without control characters.
    ///   - prompt: The text of the prompt.
    /// - Returns: the device, with the label that the server gave it: a number follows one that another device of the account
    ///   has already, such as `Laptop 2`.
    /// - Throws: `TouchstoneError`: `limitExceeded` if 32 accounts of the server are set up here, `stepUpNeeded` if the user did not authenticate just before, `hardwareTooWeak` if the
    ///   server requires better hardware protection, `unsupported` for a rule without a prompt, the errors of a prompt and
    ///   of a server.
    @discardableResult
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
    /// Registers this device and stores its record and token.
    fileprivate func setUp(
        label: String,
        _ prompt: PromptText
    ) async throws(TouchstoneError) -> LoginDevice {
        let keys = client.keys
        let former = try await client.store.find(account, .standard)
        if former == nil { try await client.store.checkHasRoom() }
        try await confirmFingers(prompt)
        let begun = try await call(
            "POST",
            "/v1/credentials/options",
            [
                "kind": "device", "label": .string(label),
                "hardware": .string(try await keys.hardwareLevel().name),
            ],
            isBound: true
        )
        let ceremony = try Ceremony(begun, from: client.api)
        let options = try onDevice { () throws(DeviceError) in
            try CreationOptions(parsing: ceremony.publicKey)
        }
        guard Base64URL.encode(options.userHandle) == account else { throw .badReply("user.id") }
        let certificates = options.wantsAttestation ? try await attestationCertificates() : []
        let made = try await keys.register(
            options,
            client.rule,
            label: label,
            certificates: certificates,
            prompt
        )
        let record = DeviceRecord(
            user: user,
            label: label,
            rule: client.rule.description,
            id: made.id,
            credential: made.credential,
            proofKey: proofKey
        )
        // From here on the server may know the key, so the rest runs to its end even if the task is
        // cancelled.
        let end = Task { [record] () -> Result<DeviceRecord, TouchstoneError> in
            do throws(TouchstoneError) {
                var record = record
                do throws(TouchstoneError) {
                    record.label = try await confirm(ceremony, made, label, former)
                } catch {
                    // The server may have stored the key: remove it there later.
                    if error.isWithoutAnswer { try? await client.store.forget(ForgottenDevice(record)) }
                    throw error
                }
                try await keep(record, former)
                return .success(record)
            } catch {
                return .failure(error)
            }
        }
        let kept = try await end.value.get()
        noteSetUp()
        return kept.device
    }

    /// Asks for the passcode if biometry is locked out until it is entered, such as after a change of the enrolled fingers:
    /// the person who enrolled the new finger must know the passcode.
    private func confirmFingers(_ prompt: PromptText) async throws(TouchstoneError) {
        let keychain = client.keys.keychain
        guard let demand = client.rule.promptedFactors, !demand.contains(.passcode),
            try await keychain.capability(for: demand).obstacle?.code == .lockedOutUntilPasscode
        else { return }
        try await keychain.authenticate(prompt, using: .passcode).end()
    }

    /// Confirms the key with the server; if the reply is lost, asks the server whether it stored the key.
    ///
    /// - Returns: the device's label on the server, which adds a number to one that the account has already.
    private func confirm(
        _ ceremony: Ceremony,
        _ made: DeviceKeys.Made,
        _ label: String,
        _ former: DeviceRecord?
    ) async throws(TouchstoneError) -> String {
        let id = Base64URL.encode(made.id)
        // The former key stays until this one is stored here.
        let members = JSONValue(members: [
            "ceremonyId": .string(ceremony.id), "credential": made.response, "label": .string(label),
            "replaces": former.map { .string($0.device.id) },
        ])
        let answer: JSONObject
        do throws(TouchstoneError) {
            answer = try await call("POST", "/v1/credentials", members, isBound: true)
        } catch {
            guard error.isWithoutAnswer, let found = try? await call("GET", "/v1/credentials/\(id)") else {
                throw error
            }
            answer = found
        }
        guard answer["id"]?.string == id else { throw .badReply("id") }
        guard let label = answer["label"]?.string else { throw .badReply("label") }
        return label
    }

    /// Stores the confirmed record; on failure removes the key from the server again.
    private func keep(_ record: DeviceRecord, _ former: DeviceRecord?) async throws(TouchstoneError) {
        var isWritten = false
        do throws(TouchstoneError) {
            guard let token = refreshToken else { throw TouchstoneError(.sessionEnded, cause: "signedOut") }
            // While its record is kept, a former key is in use, and nobody removes it.
            if let former { try await client.store.forget(ForgottenDevice(former)) }
            try await client.store.write(record)
            isWritten = true
            try await client.store.seal(token, of: account)
        } catch {
            // If the record could not be written, the former one is unchanged. Otherwise the former key is deleted, and the new one signs
            // in without a token.
            guard isWritten, former != nil else {
                if isWritten { try? await client.store.delete(account) }
                await giveUp(record)
                throw error
            }
            try? await client.store.deleteToken(account)
        }
        if let former { await giveUp(former) }
    }

    /// Removes a key on the server that is no longer kept here; on failure later.
    private func giveUp(_ record: DeviceRecord) async {
        let id = record.device.id
        if (try? await call("DELETE", "/v1/credentials/\(id)", isBound: true)) != nil {
            try? await client.store.noteRemoved(id)
        } else if let device = try? ForgottenDevice(record) {
            try? await client.store.forget(device)
        }
    }

    /// Requests certificates for this chip's attestation key from the server's CA; empty without a chip, and for a chip
    /// that the CA does not trust.
    func attestationCertificates() async throws(TouchstoneError) -> [[UInt8]] {
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
            // Whether to accept a key without a certified attestation is the server's decision.
            guard error.code == .hardwareTooWeak || error.cause == "attestation_rejected" else { throw error }
            return []
        }
    }
}

extension TouchstoneError {
    /// Whether a request may have succeeded although its reply was lost.
    fileprivate var isWithoutAnswer: Bool {
        [.unreachable, .timedOut, .badReply].contains(code)
    }
}
