internal import KeychainModel
internal import Primitives

/// The content of a keybag: wrapped keys, the parameters to unwrap them, and what decides; no secret in clear.
///
/// ``StoredKeybag`` is its form in a file, with the codes that authenticate it.
struct KeybagRecord: Equatable {
    static let saltByteCount = 32
    static let storeIDByteCount = 16

    /// The permanent identifier of the store; part of all its associated data.
    var storeID: [UInt8]
    var cost: PasscodeDerivation.Cost
    var salt: [UInt8]
    /// The strength of the seal when the passcode was set.
    var assurance: Assurance
    /// The sealer's blob.
    var blob: [UInt8]
    /// The keybag key, wrapped under passcode and device secret.
    var passcodeWrap: [UInt8]
    /// The keybag key, wrapped under the recovery code.
    var recoveryWrap: [UInt8]
    /// Keys wrapped under the keybag key, by name.
    var keys: [UInt8: [UInt8]]
    /// Incremented whenever the enrolled set changes.
    var epoch: UInt64
    /// The keyed digest of the enrolled set; nil before the first observation.
    var enrolment: [UInt8]?
    /// Whether that set has fingers; without fingers, or before the first observation, there is no key for the current
    /// set.
    var hasFingers: Bool
    /// The public key for items constrained to the passcode.
    var passcodePublicKey: [UInt8]
    /// The private key, wrapped under the passcode alone.
    var passcodePrivateWrap: [UInt8]
    /// The private key, wrapped under the recovery code.
    var passcodePrivateRecoveryWrap: [UInt8]
    /// The hardware counters of this keybag; nil without hardware.
    var hardware: HardwareCounters?
    /// The end times of former epochs, sealed (``EpochEnds``); empty if there are none.
    var epochEnds: [UInt8] = []
    /// The keyed digest of the enrolled set without its templates.
    ///
    /// Equal to ``enrolment`` if the templates were not read. Nil before the first observation, and in a keybag of
    /// version 1 or 2 until the set is observed again.
    var enrolmentNames: [UInt8]?
    /// Incremented whenever the keybag is written.
    ///
    /// The items note it (``ItemSetDigest/keybag``), so that an older keybag is refused. 0 in a record of a version before 4, which has no seal.
    var revision: UInt64 = 0
    /// Hardware objects of former seals and counters that are still to be destroyed.
    var former: [FormerObject] = []

    /// The hardware counters of a keybag, as identified by the driver.
    struct HardwareCounters: Equatable {
        /// Identifies the secret of the present enrolment epoch.
        var epoch: [UInt8]
        /// Identifies the counter of the store's generations.
        var generation: [UInt8]
        /// The counter's value at which the items count as current whatever their generation, because the counter is new or
        /// the recovery code accepted them; nil once they were brought in step with it.
        ///
        /// The counter is incremented then, so that a copy of such a record accepts no items a second time.
        var adoptsAt: UInt64?
        /// Identifies the index by which the hardware knows this keychain; nil until it is made.
        var mark: [UInt8]?
    }

    /// A hardware object that no keybag uses any more.
    struct FormerObject: Equatable {
        enum Kind: UInt64, CaseIterable {
            /// A sealer's blob.
            case seal = 1
            /// A counter of enrolment epochs.
            case epoch = 2
            /// A counter of the store's generations.
            case generation = 3
            /// The index by which the hardware knew this keychain.
            case mark = 4
        }

        var kind: Kind
        /// Identifies it to the driver.
        var blob: [UInt8]
    }

    /// Whether the record tells that the hardware knows this keychain.
    var knowsHardware: Bool {
        hardware != nil || former.contains { $0.kind == .mark || $0.kind == .generation }
    }

    /// The associated data of a wrapped key.
    func context(_ name: String, epoch: UInt64 = 0) -> [UInt8] {
        Self.context(name, storeID: storeID, epoch: epoch)
    }

    /// The associated data of the wrapped key `name`.
    func context(of name: KeybagKeyName) -> [UInt8] {
        context("key \(name.rawValue)", epoch: name == .biometryCurrentSet ? epoch : 0)
    }

    static func context(_ name: String, storeID: [UInt8], epoch: UInt64 = 0) -> [UInt8] {
        Array("touchstone 1 keybag \(name) \(epoch) ".utf8) + storeID
    }
}
