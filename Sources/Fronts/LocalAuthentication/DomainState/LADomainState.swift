public import Foundation

/// What a context has seen of the ways to authenticate: compare it with an earlier one to learn of changes.
///
/// ```swift
/// if context.domainState.biometry.stateHash != remembered {
///     // fingers were enrolled or removed
/// }
/// ```
public final class LADomainState: NSObject, Sendable {
    /// Fingers.
    public let biometry: LADomainStateBiometry
    /// Companion devices: there are none.
    public let companion = LADomainStateCompanion()

    init(biometryType: LABiometryType, stateHash: Data?) {
        biometry = LADomainStateBiometry(biometryType: biometryType, stateHash: stateHash)
        super.init()
    }

    /// Bytes that change when any part changes; nil before a success.
    ///
    /// Those of ``biometry``, the one part that can change here.
    public var stateHash: Data? { biometry.stateHash }

    /// Two are equal when all their parts are.
    public override func isEqual(_ object: Any?) -> Bool {
        (object as? LADomainState)?.biometry.isEqual(biometry) ?? false
    }

    /// A hash that equal ones share.
    public override var hash: Int { biometry.hash }
}

/// What a context has seen of the enrolled fingers.
public final class LADomainStateBiometry: NSObject, Sendable {
    /// The kind of sensor.
    public let biometryType: LABiometryType
    /// Bytes that change with the set of enrolled fingers; nil before a success.
    public let stateHash: Data?

    init(biometryType: LABiometryType, stateHash: Data?) {
        self.biometryType = biometryType
        self.stateHash = stateHash
        super.init()
    }

    /// Two are equal when sensor and set are.
    public override func isEqual(_ object: Any?) -> Bool {
        guard let other = object as? LADomainStateBiometry else { return false }
        return other.biometryType == biometryType && other.stateHash == stateHash
    }

    /// A hash that equal ones share.
    public override var hash: Int { stateHash.hashValue }
}

/// The companion devices: none is ever paired here.
public final class LADomainStateCompanion: NSObject, Sendable {
    override init() { super.init() }

    /// The kinds of paired devices: none.
    public var availableCompanionTypes: Set<LACompanionType> { [] }
    /// Bytes that change with the paired devices: nil, since there are none.
    public var stateHash: Data? { nil }
    /// Bytes that change with the paired devices of one kind: nil, since there are none.
    public func stateHash(for companionType: LACompanionType) -> Data? { nil }
}
