internal import Crypto
internal import WebAuthnModel

extension RelyingParty {
    /// The numbers of a ceremony's steps in section 7.1 or 7.2.
    struct Steps {
        let parse: String
        let type: String
        let challenge: String
        let origin: String
        let crossOrigin: String
        let topOrigin: String
        let rpIdHash: String
        let userPresent: String
        let userVerified: String
        let backup: String

        static let registration = Steps(
            parse: "7.1 step 6",
            type: "7.1 step 7",
            challenge: "7.1 step 8",
            origin: "7.1 step 9",
            crossOrigin: "7.1 step 10",
            topOrigin: "7.1 step 11",
            rpIdHash: "7.1 step 14",
            userPresent: "7.1 step 15",
            userVerified: "7.1 step 16",
            backup: "7.1 step 17"
        )
        static let authentication = Steps(
            parse: "7.2 step 9",
            type: "7.2 step 10",
            challenge: "7.2 step 11",
            origin: "7.2 step 12",
            crossOrigin: "7.2 step 13",
            topOrigin: "7.2 step 14",
            rpIdHash: "7.2 step 15",
            userPresent: "7.2 step 16",
            userVerified: "7.2 step 17",
            backup: "7.2 step 18"
        )
    }

    /// Parses the client data and checks them against the ceremony: 7.1 steps 5 to 11, 7.2 steps 8 to 14.
    func check(
        clientDataJSON: [UInt8],
        type: String,
        challenge: [UInt8],
        _ steps: Steps
    ) throws(WebAuthnError) -> CollectedClientData {
        let clientData: CollectedClientData
        do throws(ClientDataError) {
            clientData = try CollectedClientData(parsing: clientDataJSON)
        } catch {
            throw WebAuthnError(.malformedClientData, steps.parse, "\(error)")
        }
        guard clientData.type == type else { throw WebAuthnError(.wrongType, steps.type, clientData.type) }
        guard !challenge.isEmpty, clientData.challenge == challenge else {
            throw WebAuthnError(.wrongChallenge, steps.challenge, "another challenge")
        }
        guard Self.contains(origins, clientData.origin) else {
            throw WebAuthnError(.wrongOrigin, steps.origin, clientData.origin)
        }
        if clientData.crossOrigin || clientData.topOrigin != nil {
            guard !topOrigins.isEmpty else {
                throw WebAuthnError(
                    .crossOriginRefused,
                    steps.crossOrigin,
                    clientData.topOrigin ?? "crossOrigin"
                )
            }
            if let topOrigin = clientData.topOrigin, !Self.contains(topOrigins, topOrigin) {
                throw WebAuthnError(.crossOriginRefused, steps.topOrigin, topOrigin)
            }
        }
        return clientData
    }

    /// Compares byte for byte: Swift strings are also equal if they are only canonically equivalent.
    private static func contains(_ origins: [String], _ origin: String) -> Bool {
        origins.contains { $0.utf8.elementsEqual(origin.utf8) }
    }

    /// Checks the authenticator data against the ceremony: 7.1 steps 14 to 17, 7.2 steps 15 to 18.
    func check(
        _ data: AuthenticatorData,
        userPresence: Bool,
        userVerification: UserVerificationRequirement,
        _ steps: Steps
    ) throws(WebAuthnError) {
        guard data.rpIdHash.elementsEqual(SHA256.hash(data: Array(id.utf8))) else {
            throw WebAuthnError(.wrongRPID, steps.rpIdHash, "not the hash of \(id)")
        }
        guard data.flags.contains(.userPresent) || !userPresence else {
            throw WebAuthnError(.userNotPresent, steps.userPresent, "flag UP is clear")
        }
        guard data.flags.contains(.userVerified) || userVerification != .required else {
            throw WebAuthnError(.userNotVerified, steps.userVerified, "flag UV is clear")
        }
        guard data.flags.contains(.backupEligible) || !data.flags.contains(.backupState) else {
            throw WebAuthnError(.impossibleBackupState, steps.backup, "BS is set, BE is clear")
        }
    }
}
