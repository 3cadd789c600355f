public import Foundation

/// Where an app stands at its start, as the items in the keychain tell: step 7 of the ten.
public enum LoginState: Sendable, Hashable {
    /// This device has no key for the account: sign in with the password.
    case signedOut
    /// The device's key can sign in.
    case ready(LoginDevice)
    /// The device's key can never be used again, because the enrolled fingers or the passcode changed.
    ///
    /// It stays so until the app decides: ``LoginClient/signIn(user:password:)`` and ``DeviceOffer/accept(label:_:)`` set
    /// the device up again, ``LoginClient/forgetDevice()`` gives it up.
    case invalidated(LoginDevice)
}

/// A device that may sign in to the account.
public struct LoginDevice: Sendable, Hashable, Identifiable {
    /// The id of its credential, in base64url.
    public let id: String
    /// What the user called it.
    public let label: String
    /// When it was used, as the server says; nil for never, and where the server was not asked.
    public let lastUsed: Date?
    /// Whether it is the one that this runs on.
    public let isThisDevice: Bool
}
