public import Foundation
import KeychainModel

extension LAEnvironment {
    /// A way to authenticate.
    public class Mechanism: NSObject, @unchecked Sendable {  // immutable, as are its subclasses
        /// Whether it would be accepted now, as far as can be told without a prompt.
        public let isUsable: Bool
        /// Its name for the user.
        public let localizedName: String
        /// The name of its picture among Apple's SF Symbols.
        public let iconSystemName: String
        /// Touchstone's own, not Apple's: the name of its picture in icon themes (freedesktop.org).
        public let iconThemeName: String

        init(isUsable: Bool, localizedName: String, iconSystemName: String, iconThemeName: String) {
            self.isUsable = isUsable
            self.localizedName = localizedName
            self.iconSystemName = iconSystemName
            self.iconThemeName = iconThemeName
            super.init()
        }

        /// Two are equal when they say the same.
        public override func isEqual(_ object: Any?) -> Bool {
            guard let other = object as? Mechanism else { return false }
            return type(of: other) == type(of: self) && other.isUsable == isUsable
                && other.localizedName == localizedName
        }

        /// A hash that equal ones share.
        public override var hash: Int { localizedName.hashValue }
    }

    /// Fingers on a sensor.
    public final class MechanismBiometry: Mechanism, @unchecked Sendable {  // immutable
        /// The kind of sensor.
        public let biometryType: LABiometryType
        /// Whether a finger is enrolled.
        public let isEnrolled: Bool
        /// Whether too many failures locked it; the passcode unlocks it.
        public let isLockedOut: Bool
        /// Bytes that change with the set of enrolled fingers; empty while that cannot be told.
        public let stateHash: Data
        /// Whether a built-in sensor is out of reach, as behind a closed lid: never known here.
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

        /// Two are equal when they say the same.
        public override func isEqual(_ object: Any?) -> Bool {
            guard let other = object as? MechanismBiometry, super.isEqual(object) else { return false }
            return other.biometryType == biometryType && other.isEnrolled == isEnrolled
                && other.isLockedOut == isLockedOut && other.stateHash == stateHash
        }
    }

    /// The passcode.
    public final class MechanismUserPassword: Mechanism, @unchecked Sendable {  // immutable
        /// Whether there is one: the keychain was set up.
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

        /// Two are equal when they say the same.
        public override func isEqual(_ object: Any?) -> Bool {
            guard let other = object as? MechanismUserPassword, super.isEqual(object) else { return false }
            return other.isSet == isSet
        }
    }

    /// A companion device: none is ever paired here.
    public final class MechanismCompanion: Mechanism, @unchecked Sendable {  // immutable
        /// The kind of device.
        public let type: LACompanionType
        /// Bytes that change with the paired devices of this kind.
        public let stateHash: Data?

        init(type: LACompanionType, stateHash: Data?) {
            self.type = type
            self.stateHash = stateHash
            super.init(isUsable: false, localizedName: "", iconSystemName: "", iconThemeName: "")
        }
    }
}
