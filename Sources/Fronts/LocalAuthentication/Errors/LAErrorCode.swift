import Foundation

extension LAError {
    /// The reasons, with Apple's numbers.
    public enum Code: Int, Sendable {
        /// The finger or passcode did not match.
        case authenticationFailed = -1
        /// The user cancelled the prompt.
        case userCancel = -2
        /// The user chose the fallback button.
        case userFallback = -3
        /// The system cancelled the prompt: suspend, another program took the sensor, or the user did not
        /// answer in time.
        case systemCancel = -4
        /// No passcode is set: the keychain was not set up.
        case passcodeNotSet = -5
        /// There is no usable sensor.
        case biometryNotAvailable = -6
        /// No finger is enrolled.
        case biometryNotEnrolled = -7
        /// Too many failed attempts; biometry is locked until the passcode is entered.
        case biometryLockout = -8
        /// The app cancelled the prompt, with `invalidate()` or by cancelling its task.
        case appCancel = -9
        /// The context has been invalidated.
        case invalidContext = -10
        /// There is no companion device.
        case companionNotAvailable = -11
        /// No removable sensor has been paired.
        case biometryNotPaired = -12
        /// The sensor was unplugged.
        case biometryDisconnected = -13
        /// A view has invalid dimensions; never thrown here.
        case invalidDimensions = -14
        /// A prompt is needed, but is not allowed or cannot be shown anywhere.
        case notInteractive = -1004

        /// The old name of ``biometryNotAvailable``.
        public static var touchIDNotAvailable: Code { .biometryNotAvailable }
        /// The old name of ``biometryNotEnrolled``.
        public static var touchIDNotEnrolled: Code { .biometryNotEnrolled }
        /// The old name of ``biometryLockout``.
        public static var touchIDLockout: Code { .biometryLockout }
        /// The old name of ``companionNotAvailable``.
        public static var watchNotAvailable: Code { .companionNotAvailable }

        /// Matches an error with this code, in `catch` and `switch`.
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
