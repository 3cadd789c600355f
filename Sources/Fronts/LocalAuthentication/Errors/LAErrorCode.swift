import Foundation

extension LAError {
    /// The reasons, by Apple's numbers.
    public enum Code: Int, Sendable {
        /// What was shown did not match.
        case authenticationFailed = -1
        /// The user stopped it.
        case userCancel = -2
        /// The user chose the fallback button.
        case userFallback = -3
        /// The system stopped it: suspend, the sensor was taken, a prompt that nobody answered.
        case systemCancel = -4
        /// There is no passcode: the keychain was not set up.
        case passcodeNotSet = -5
        /// No sensor can be used.
        case biometryNotAvailable = -6
        /// No finger is enrolled.
        case biometryNotEnrolled = -7
        /// Too many failures; biometry works again once the passcode is entered.
        case biometryLockout = -8
        /// The app stopped it, with `invalidate()` or by cancelling its task.
        case appCancel = -9
        /// The context was invalidated before.
        case invalidContext = -10
        /// There is no companion device.
        case companionNotAvailable = -11
        /// No removable sensor was ever paired.
        case biometryNotPaired = -12
        /// The sensor was unplugged.
        case biometryDisconnected = -13
        /// Views of the wrong size; never given here.
        case invalidDimensions = -14
        /// A prompt was needed, and is not allowed or there is nowhere to show it.
        case notInteractive = -1004

        /// ``biometryNotAvailable`` by its old name.
        public static var touchIDNotAvailable: Code { .biometryNotAvailable }
        /// ``biometryNotEnrolled`` by its old name.
        public static var touchIDNotEnrolled: Code { .biometryNotEnrolled }
        /// ``biometryLockout`` by its old name.
        public static var touchIDLockout: Code { .biometryLockout }
        /// ``companionNotAvailable`` by its old name.
        public static var watchNotAvailable: Code { .companionNotAvailable }

        /// Matches an error of this reason, in `catch` and `switch`.
        public static func ~= (match: Code, error: any Error) -> Bool {
            let error = error as NSError
            return error.domain == LAErrorDomain && error.code == match.rawValue
        }
    }

    /// ``Code/authenticationFailed``.
    public static var authenticationFailed: Code { .authenticationFailed }
    /// ``Code/userCancel``.
    public static var userCancel: Code { .userCancel }
    /// ``Code/userFallback``.
    public static var userFallback: Code { .userFallback }
    /// ``Code/systemCancel``.
    public static var systemCancel: Code { .systemCancel }
    /// ``Code/passcodeNotSet``.
    public static var passcodeNotSet: Code { .passcodeNotSet }
    /// ``Code/biometryNotAvailable``.
    public static var biometryNotAvailable: Code { .biometryNotAvailable }
    /// ``Code/biometryNotEnrolled``.
    public static var biometryNotEnrolled: Code { .biometryNotEnrolled }
    /// ``Code/biometryLockout``.
    public static var biometryLockout: Code { .biometryLockout }
    /// ``Code/appCancel``.
    public static var appCancel: Code { .appCancel }
    /// ``Code/invalidContext``.
    public static var invalidContext: Code { .invalidContext }
    /// ``Code/companionNotAvailable``.
    public static var companionNotAvailable: Code { .companionNotAvailable }
    /// ``Code/biometryNotPaired``.
    public static var biometryNotPaired: Code { .biometryNotPaired }
    /// ``Code/biometryDisconnected``.
    public static var biometryDisconnected: Code { .biometryDisconnected }
    /// ``Code/invalidDimensions``.
    public static var invalidDimensions: Code { .invalidDimensions }
    /// ``Code/notInteractive``.
    public static var notInteractive: Code { .notInteractive }
    /// ``Code/touchIDNotAvailable``.
    public static var touchIDNotAvailable: Code { .biometryNotAvailable }
    /// ``Code/touchIDNotEnrolled``.
    public static var touchIDNotEnrolled: Code { .biometryNotEnrolled }
    /// ``Code/touchIDLockout``.
    public static var touchIDLockout: Code { .biometryLockout }
    /// ``Code/watchNotAvailable``.
    public static var watchNotAvailable: Code { .companionNotAvailable }
}
