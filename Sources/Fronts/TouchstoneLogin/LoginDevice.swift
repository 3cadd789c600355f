public import Foundation

/// The state of sign-in at the start of the app, from the items in the keychain: step 7 of the ten.
public enum LoginState: Sendable, Hashable {
    /// The keychain is locked, as after each boot, and what it holds can only be read once its passcode was entered.
    ///
    /// ``LoginClient/state(_:)`` with a prompt asks for it and never has this result;
    /// ``LoginClient/signIn(_:)`` asks for it too, and throws `notFound` if this device has no key.
    case locked
    /// This device has no key for the account: sign in with the password.
    case signedOut
    /// The device's key can sign in.
    case ready(LoginDevice)
    /// The device's key can never be used again, because the enrolled fingers or the passcode changed.
    ///
    /// The state remains until the app acts: ``LoginClient/signIn(user:password:)`` and ``DeviceOffer/accept(label:_:)``
    /// set the device up again, ``LoginClient/forgetDevice()`` deletes it.
    case invalidated(LoginDevice)
}

/// A device that may sign in to the account.
public struct LoginDevice: Sendable, Hashable, Identifiable {
    /// The id of the device's credential, in base64url.
    public let id: String
    /// The user's name for the device.
    public let label: String
    /// When the device was last used, according to the server; nil if it never was, or if the server was not
    /// asked.
    public let lastUsed: Date?
    /// Until when the server accepts the device's key, by its own clock; nil without limit, and if the server was not asked.
    public internal(set) var acceptedUntil: Date?
    /// Whether it is the device that this app runs on.
    public let isThisDevice: Bool
}
