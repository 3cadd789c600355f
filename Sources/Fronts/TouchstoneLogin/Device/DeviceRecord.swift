internal import Foundation
internal import Touchstone
internal import WebAuthnModel

/// The stored record of this device's registration for one account; nothing in it is secret, because the daemon seals both
/// keys.
struct DeviceRecord: Codable, Sendable, Equatable {
    /// The account's name.
    var user: String
    /// The device's name on the server: the user's name for it, with a number if the account had that name already.
    var label: String
    /// The rule of the key, in source form.
    let rule: String
    /// The credential's id.
    let id: Data
    /// The credential, in the encoding that ``DeviceKeys`` reads; it has the account's user handle.
    let credential: Data
    /// The session key for DPoP.
    let proofKey: Data

    /// The names in the stored JSON, whatever a property is called.
    enum CodingKeys: String, CodingKey, CaseIterable {
        case user = "user"
        case label = "label"
        case rule = "rule"
        case id = "id"
        case credential = "credential"
        case proofKey = "proofKey"
    }

    /// The account's id: its user handle, in base64url.
    var account: String {
        get throws(TouchstoneError) { try DeviceKeys.account(of: credential) }
    }

    /// The device as the public API shows it.
    var device: LoginDevice {
        LoginDevice(id: Base64URL.encode(id), label: label, lastUsed: nil, isThisDevice: true)
    }
}

/// The credential of a device that was deleted here but not yet on the server.
struct ForgottenDevice: Codable, Sendable, Equatable {
    let user: String
    let id: String
    /// The account's id; nil in what an earlier version wrote.
    var account: String?
    /// The session key that the credential was registered with, which proves that this device may end it; nil in what an
    /// earlier version wrote.
    var proofKey: Data?

    /// The names in the stored JSON, whatever a property is called.
    enum CodingKeys: String, CodingKey, CaseIterable {
        case user = "user"
        case id = "id"
        case account = "account"
        case proofKey = "proofKey"
    }
}

extension ForgottenDevice {
    init(_ record: DeviceRecord) throws(TouchstoneError) {
        self.init(
            user: record.user,
            id: record.device.id,
            account: try record.account,
            proofKey: record.proofKey
        )
    }
}
