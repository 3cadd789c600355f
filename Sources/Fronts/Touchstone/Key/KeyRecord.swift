internal import Foundation

#if APPLE_SIDE
    internal import CryptoKit
#else
    internal import Crypto
#endif

/// The stored record of a key, as JSON; nothing in it is secret, because the representation is sealed by the
/// keychain.
struct KeyRecord: Codable, Sendable {
    private let need: String
    private let acceptsLaterEnrolments: Bool
    private let acceptsWeakBiometry: Bool
    private let demands: String?
    /// How long one prompt authorises uses, in milliseconds; nil for a single use.
    private let reuse: Int64?
    private let protection: String
    private let point: Data
    let created: Date
    let expires: Date?
    /// When the key may be used first; nil for at once.
    let starts: Date?
    /// How often the key may be used; nil for any number.
    let uses: Int?
    let representation: Data
    /// The attestation from when the key was made; nil for none.
    private(set) var attestation: KeyAttestation?
    /// A sealing key's other public key for authentication codes; nil for a key made by an older version.
    private let codePoint: Data?

    /// The names in the stored JSON, whatever a property is called.
    enum CodingKeys: String, CodingKey, CaseIterable {
        case need = "need"
        case acceptsLaterEnrolments = "acceptsLaterEnrolments"
        case acceptsWeakBiometry = "acceptsWeakBiometry"
        case demands = "demands"
        case reuse = "reuse"
        case protection = "protection"
        case point = "point"
        case created = "created"
        case expires = "expires"
        case starts = "starts"
        case uses = "uses"
        case representation = "representation"
        case attestation = "attestation"
        case codePoint = "codePoint"
    }

    init(_ key: NewKey, _ rule: AccessRule, _ lifetime: KeyLifetime, hasCodes: Bool) {
        attestation = key.attestation
        codePoint = hasCodes ? AuthenticationCode.makePeer() : nil
        need = rule.need.rawValue
        acceptsLaterEnrolments = rule.acceptsLaterEnrolments
        acceptsWeakBiometry = rule.acceptsWeakBiometry
        demands = rule.level?.storedName
        // A time below one millisecond means a single use.
        let milliseconds = rule.reuse.milliseconds
        reuse = milliseconds > 0 ? milliseconds : nil
        protection = key.hardware.storedName
        point = key.publicKey
        created = Date()
        (starts, expires, uses) = (lifetime.starts, lifetime.expires, lifetime.uses)
        representation = key.representation
    }

    /// The rule, hardware level and public key; throws `damaged` if one of them is invalid.
    func parts() throws(TouchstoneError) -> (AccessRule, HardwareLevel, DevicePublicKey) {
        guard let need = AccessRule.Need(rawValue: need), let level = HardwareLevel(name: protection) else {
            throw .damagedRecord
        }
        var rule = AccessRule(need)
        rule.acceptsLaterEnrolments = acceptsLaterEnrolments
        rule.acceptsWeakBiometry = acceptsWeakBiometry
        if let reuse {
            rule = rule.reusable(for: .milliseconds(reuse))
            guard reuse > 0, (try? rule.check()) != nil else { throw .damagedRecord }
        }
        if let demands {
            guard let level = HardwareLevel(name: demands) else { throw .damagedRecord }
            rule.level = level
        }
        return (rule, level, try DevicePublicKey(x963Representation: point))
    }

    /// The other public key for authentication codes.
    func codePeer() throws(TouchstoneError) -> DevicePublicKey? {
        try codePoint.map { point throws(TouchstoneError) in
            try DevicePublicKey(x963Representation: point)
        }
    }

    /// The mark that distinguishes this key's record from one made later under the same name.
    static func mark(of representation: Data) -> [UInt8] { Array(SHA256.hash(data: representation)) }
}

extension TouchstoneError {
    /// The error for an invalid key record.
    static var damagedRecord: TouchstoneError {
        TouchstoneError(.damaged, details: ["the record of a key"])
    }
}

extension HardwareLevel {
    /// The level of a name; nil for an unknown name.
    fileprivate init?(name: String) {
        let all: [HardwareLevel] = [.test, .software, .separateAccount, .weakTPM, .hardware]
        guard let level = all.first(where: { $0.storedName == name }) else { return nil }
        self = level
    }
}
