public import Foundation
import KeychainModel

extension LAEnvironment {
    /// An authentication mechanism.
    public class Mechanism: NSObject, @unchecked Sendable {  // immutable, as are its subclasses
        /// Whether the mechanism can be used now, as far as known without a prompt.
        public let isUsable: Bool
        /// The mechanism's name for the user.
        public let localizedName: String
        /// The name of the mechanism's icon in Apple's SF Symbols.
        public let iconSystemName: String
        /// The name of the mechanism's icon in freedesktop.org icon themes; an addition of Touchstone to
        /// Apple's API.
        public let iconThemeName: String

        init(isUsable: Bool, localizedName: String, iconSystemName: String, iconThemeName: String) {
            self.isUsable = isUsable
            self.localizedName = localizedName
            self.iconSystemName = iconSystemName
            self.iconThemeName = iconThemeName
            super.init()
        }

        /// Compares type and properties.
        public override func isEqual(_ object: Any?) -> Bool {
            guard let other = object as? Mechanism else { return false }
            return type(of: other) == type(of: self) && other.isUsable == isUsable
                && other.localizedName == localizedName
        }

        /// A hash consistent with `isEqual(_:)`.
        public override var hash: Int { localizedName.hashValue }
    }

    /// Biometry: fingers on a sensor.
    public final class MechanismBiometry: Mechanism, @unchecked Sendable {  // immutable
        /// The type of sensor.
        public let biometryType: LABiometryType
        /// Whether a finger is enrolled.
        public let isEnrolled: Bool
        /// Whether too many failed attempts locked biometry; the passcode unlocks it.
        public let isLockedOut: Bool
        /// Bytes that change with the set of enrolled fingers; empty if changes cannot be detected.
        public let stateHash: Data
        /// Whether a built-in sensor is inaccessible, such as behind a closed lid; always false here, because
        /// it is not known.
        public var builtInSensorInaccessible: Bool { false }

        init(_ availability: AuthenticationAvailability, _ status: AuthenticationStatus) {
            biometryType = .touchID
            isEnrolled = !status.fingers.isEmpty
            isLockedOut = status.isBiometryLockedOut
            stateHash = availability.domainState.map { Data($0) } ?? Data()
            super.init(
                isUsable: availability.error == nil,
                localizedName: "Fingerprint",
                iconSystemName: "touchid",
                iconThemeName: "auth-fingerprint-symbolic"
            )
        }

        /// Compares all properties.
        public override func isEqual(_ object: Any?) -> Bool {
            guard let other = object as? MechanismBiometry, super.isEqual(object) else { return false }
            return other.biometryType == biometryType && other.isEnrolled == isEnrolled
                && other.isLockedOut == isLockedOut && other.stateHash == stateHash
        }
    }

    /// The passcode.
    public final class MechanismUserPassword: Mechanism, @unchecked Sendable {  // immutable
        /// Whether a passcode is set: the keychain was set up.
        public let isSet: Bool

        init(_ status: StatusReply) {
            isSet = status.keybag != .notSetUp
            let mayTry = !status.authentication.isClosed && status.authentication.passcodeDelay == 0
            super.init(
                isUsable: isSet && status.keybag != .damaged && mayTry,
                localizedName: "Passcode",
                iconSystemName: "lock",
                iconThemeName: "dialog-password-symbolic"
            )
        }

        /// Compares all properties.
        public override func isEqual(_ object: Any?) -> Bool {
            guard let other = object as? MechanismUserPassword, super.isEqual(object) else { return false }
            return other.isSet == isSet
        }
    }

    /// A companion device; none can be paired here.
    public final class MechanismCompanion: Mechanism, @unchecked Sendable {  // immutable
        /// The type of device.
        public let type: LACompanionType
        /// Bytes that change with the paired devices of this type.
        public let stateHash: Data?

        init(type: LACompanionType, stateHash: Data?) {
            self.type = type
            self.stateHash = stateHash
            super.init(isUsable: false, localizedName: "", iconSystemName: "", iconThemeName: "")
        }
    }
}
