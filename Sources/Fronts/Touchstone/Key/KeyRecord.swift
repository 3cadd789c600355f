internal import Foundation

#if APPLE_SIDE
    internal import CryptoKit
#else
    internal import Crypto
#endif

/// What is kept of a key, as JSON; nothing in it is secret, because the representation is sealed by the keychain.
struct KeyRecord: Codable, Sendable {
    private let need: String
    private let acceptsLaterEnrolments: Bool
    private let acceptsWeakBiometry: Bool
    private let demands: String?
    /// How long a prompt serves, in milliseconds; nil for one use.
    private let reuse: Int64?
    private let protection: String
    private let point: Data
    let created: Date
    let expires: Date?
    let representation: Data
    /// What the chip said when it was made; nil for nothing.
    private(set) var attestation: KeyAttestation?
    /// Of a sealing key, the public key of its authentication codes; nil for one of an older version.
    private let codePoint: Data?

    init(_ key: NewKey, _ rule: AccessRule, expires: Date?, hasCodes: Bool) {
        attestation = key.attestation
        codePoint = hasCodes ? AuthenticationCode.makePeer() : nil
        need = rule.need.rawValue
        acceptsLaterEnrolments = rule.acceptsLaterEnrolments
        acceptsWeakBiometry = rule.acceptsWeakBiometry
        demands = rule.level.map { "\($0)" }
        // What is less than a millisecond is one use.
        let milliseconds = rule.reuse.milliseconds
        reuse = milliseconds > 0 ? milliseconds : nil
        protection = "\(key.hardware)"
        point = key.publicKey
        created = Date()
        self.expires = expires
        representation = key.representation
    }

    /// Rule, level and public key, which are damaged where they mean nothing.
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

    /// The other public key of the authentication codes.
    func codePeer() throws(TouchstoneError) -> DevicePublicKey? {
        try codePoint.map { point throws(TouchstoneError) in
            try DevicePublicKey(x963Representation: point)
        }
    }

    /// What tells this key's record from one that was made later.
    static func mark(of representation: Data) -> [UInt8] { Array(SHA256.hash(data: representation)) }
}

extension TouchstoneError {
    /// The record of a key means nothing.
    static var damagedRecord: TouchstoneError {
        TouchstoneError(.damaged, details: ["the record of a key"])
    }
}

extension HardwareLevel {
    /// The level of this name.
    fileprivate init?(name: String) {
        let all: [HardwareLevel] = [.test, .software, .separateAccount, .weakTPM, .hardware]
        guard let level = all.first(where: { "\($0)" == name }) else { return nil }
        self = level
    }
}
