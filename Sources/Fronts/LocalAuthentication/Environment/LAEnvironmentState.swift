public import Foundation
import KeychainModel

extension LAEnvironment {
    /// A snapshot of the authentication mechanisms.
    public final class State: NSObject, NSCopying, Sendable {
        /// Biometry; nil without a sensor.
        public let biometry: MechanismBiometry?
        /// The passcode; nil if the keychain cannot be reached.
        public let userPassword: MechanismUserPassword?

        init(biometry: MechanismBiometry?, userPassword: MechanismUserPassword?) {
            self.biometry = biometry
            self.userPassword = userPassword
            super.init()
        }

        /// The companion devices; always empty here.
        public var companions: [MechanismCompanion] { [] }

        /// All available mechanisms, the preferred one first.
        public var allMechanisms: [Mechanism] { [biometry, userPassword].compactMap { $0 } }

        /// Returns the same object, which is immutable.
        public func copy(with zone: NSZone? = nil) -> Any { self }

        /// Compares all mechanisms.
        public override func isEqual(_ object: Any?) -> Bool {
            (object as? State)?.allMechanisms == allMechanisms
        }

        /// A hash consistent with `isEqual(_:)`.
        public override var hash: Int { allMechanisms.hashValue }
    }
}
