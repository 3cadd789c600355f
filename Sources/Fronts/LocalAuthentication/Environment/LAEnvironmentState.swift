public import Foundation
import KeychainModel

extension LAEnvironment {
    /// The ways to authenticate, as they were at one moment.
    public final class State: NSObject, NSCopying, Sendable {
        /// Fingers; nil without a sensor.
        public let biometry: MechanismBiometry?
        /// The passcode; nil while the keychain cannot be reached.
        public let userPassword: MechanismUserPassword?

        init(biometry: MechanismBiometry?, userPassword: MechanismUserPassword?) {
            self.biometry = biometry
            self.userPassword = userPassword
            super.init()
        }

        /// The companion devices: none.
        public var companions: [MechanismCompanion] { [] }

        /// All ways there are, the preferred one first.
        public var allMechanisms: [Mechanism] { [biometry, userPassword].compactMap { $0 } }

        /// The same object: it never changes.
        public func copy(with zone: NSZone? = nil) -> Any { self }

        /// Two are equal when all their mechanisms are.
        public override func isEqual(_ object: Any?) -> Bool {
            (object as? State)?.allMechanisms == allMechanisms
        }

        /// A hash that equal ones share.
        public override var hash: Int { allMechanisms.hashValue }
    }
}
