/// Ways to show that the user is there; in a union, any one of them is enough.
public struct Authenticators: OptionSet, Sendable, Hashable {
    /// The bits, which mean nothing outside of this module.
    public let rawValue: Int
    /// Accepts any bits; those that are none of the constants here are refused where they are used.
    public init(rawValue: Int) { self.rawValue = rawValue }

    /// A finger, on any sensor but one that is known to be weak.
    ///
    /// What is known of the sensor is in ``Capability/Sensor/evidence``.
    public static let strongBiometry = Authenticators(rawValue: 1 << 0)
    /// A finger, on any sensor.
    public static let weakBiometry = Authenticators(rawValue: 1 << 1)
    /// The keychain's passcode.
    public static let passcode = Authenticators(rawValue: 1 << 2)

    /// Whether a finger is among them.
    var haveBiometry: Bool { !isDisjoint(with: [.strongBiometry, .weakBiometry]) }

    /// - Throws: ``TouchstoneError`` with `unsupported` for an empty set and for bits that mean nothing.
    func check() throws(TouchstoneError) {
        guard !isEmpty, isSubset(of: [.strongBiometry, .weakBiometry, .passcode]) else {
            throw TouchstoneError(.unsupported, nextStep: nil, details: ["authenticators: \(rawValue)"])
        }
    }
}

/// What the user showed; the set grows.
public struct AuthenticationMethod: RawRepresentable, Sendable, Hashable {
    /// The method's name, such as `fingerprint`.
    public let rawValue: String
    /// Accepts any name.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// A finger on a sensor.
    public static let fingerprint = AuthenticationMethod(rawValue: "fingerprint")
    /// A face before a camera.
    public static let face = AuthenticationMethod(rawValue: "face")
    /// An eye before a camera.
    public static let iris = AuthenticationMethod(rawValue: "iris")
    /// The passcode.
    public static let passcode = AuthenticationMethod(rawValue: "passcode")
    /// One of several, and the system does not tell which.
    public static let unspecified = AuthenticationMethod(rawValue: "unspecified")
}
