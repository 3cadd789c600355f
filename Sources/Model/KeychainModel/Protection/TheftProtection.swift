/// When changes of credentials have to wait, so that who took the unlocked machine and saw the passcode typed cannot make them at
/// once.
public enum TheftProtection: UInt8, Sendable, CaseIterable {
    /// Never; the default.
    case off = 0
    /// Away from the trusted places.
    case away = 1
    /// Everywhere.
    case always = 2
}

/// A change of what opens the keychain.
public enum CredentialChange: UInt8, Sendable, CaseIterable {
    /// Another passcode.
    case passcode = 0
    /// Another recovery code.
    case recoveryCode = 1
    /// A weaker ``TheftProtection``, or one more trusted place.
    case protection = 2
    /// Other enrolled fingers, which the system changes; they count for nothing meanwhile.
    case fingers = 3

    /// How long a change waits.
    public static let delay = Duration.seconds(3600)
    /// How long after its wait a change can be made, before it has to wait anew.
    public static let window = Duration.seconds(4 * 3600)
}

/// A network that tells where the machine is: a Wi-Fi network whose access points have proved that they know its secret.
public struct NetworkPlace: Hashable, Sendable {
    /// The longest name of a network, in bytes (IEEE 802.11-2020, 9.4.2.2).
    public static let longestName = 32
    /// The identifier of the connection's profile, from NetworkManager.
    public let profile: String
    /// The network's name (SSID), at most ``longestName`` bytes; not always UTF-8.
    public let name: [UInt8]

    /// Describes a network; nil if the name is empty or too long, or the profile no identifier.
    public init?(profile: String, name: [UInt8]) {
        guard (1...Self.longestName).contains(name.count), (1...64).contains(profile.utf8.count),
            profile.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F })
        else { return nil }
        self.profile = profile
        self.name = name
    }
}

extension Duration {
    /// Whole seconds, rounded up, as shown to the user.
    package var wholeSeconds: Int64 {
        components.attoseconds > 0 ? components.seconds + 1 : components.seconds
    }
}

/// A change that has to wait.
public struct WaitingChange: Hashable, Sendable {
    /// What is to be changed.
    public let change: CredentialChange
    /// The seconds until it can be made, or until the fingers count; 0 for now.
    public let secondsLeft: Int64

    /// Describes the wait.
    public init(_ change: CredentialChange, secondsLeft: Int64) {
        self.change = change
        self.secondsLeft = secondsLeft
    }
}
