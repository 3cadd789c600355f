public import Foundation

/// The state of the authentication mechanisms; compare it with an earlier one to detect changes.
///
/// ```swift
/// if context.domainState.biometry.stateHash != remembered {
///     // fingers were enrolled or removed
/// }
/// ```
public final class LADomainState: NSObject, Sendable {
    /// The state of biometry.
    public let biometry: LADomainStateBiometry
    /// The state of companion devices; there are none here.
    public let companion = LADomainStateCompanion()

    init(biometryType: LABiometryType, stateHash: Data?) {
        biometry = LADomainStateBiometry(biometryType: biometryType, stateHash: stateHash)
        super.init()
    }

    /// Bytes that change when any part changes; nil before a successful check or evaluation of
    /// a policy.
    ///
    /// Equal to the hash of ``biometry``, the only part that can change here.
    public var stateHash: Data? { biometry.stateHash }

    /// Compares all parts.
    public override func isEqual(_ object: Any?) -> Bool {
        (object as? LADomainState)?.biometry.isEqual(biometry) ?? false
    }

    /// A hash consistent with `isEqual(_:)`.
    public override var hash: Int { biometry.hash }
}

/// The state of biometry.
public final class LADomainStateBiometry: NSObject, Sendable {
    /// The type of sensor.
    public let biometryType: LABiometryType
    /// Bytes that change with the set of enrolled fingers; nil before a successful check or evaluation of
    /// a policy.
    public let stateHash: Data?

    init(biometryType: LABiometryType, stateHash: Data?) {
        self.biometryType = biometryType
        self.stateHash = stateHash
        super.init()
    }

    /// Compares the type of sensor and the hash.
    public override func isEqual(_ object: Any?) -> Bool {
        guard let other = object as? LADomainStateBiometry else { return false }
        return other.biometryType == biometryType && other.stateHash == stateHash
    }

    /// A hash consistent with `isEqual(_:)`.
    public override var hash: Int { stateHash.hashValue }
}

/// The state of companion devices; none can be paired here.
public final class LADomainStateCompanion: NSObject, Sendable {
    override init() { super.init() }

    /// The types of paired devices: none.
    public var availableCompanionTypes: Set<LACompanionType> { [] }
    /// Bytes that change with the paired devices; nil, because there are none.
    public var stateHash: Data? { nil }
    /// Bytes that change with the paired devices of one type; nil, because there are none.
    public func stateHash(for companionType: LACompanionType) -> Data? { nil }
}
