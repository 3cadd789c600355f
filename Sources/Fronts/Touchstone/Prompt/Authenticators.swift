/// Methods of authentication; the user has to satisfy any one of a union.
public struct Authenticators: OptionSet, Sendable, Hashable {
    /// The bits, which have no meaning outside this module.
    public let rawValue: Int
    /// Accepts any bits; bits without a constant here are rejected where they are used.
    public init(rawValue: Int) { self.rawValue = rawValue }

    /// A finger, on any sensor except a weak one, which includes one that was neither graded nor accepted.
    ///
    /// The reasons for the grade are in ``Capability/Sensor/evidence``.
    public static let strongBiometry = Authenticators(rawValue: 1 << 0)
    /// A finger, on any sensor, even a weak one.
    public static let weakBiometry = Authenticators(rawValue: 1 << 1)
    /// The keychain's passcode.
    public static let passcode = Authenticators(rawValue: 1 << 2)

    /// Whether biometry is among the authenticators.
    var haveBiometry: Bool { !isDisjoint(with: [.strongBiometry, .weakBiometry]) }

    /// - Throws: ``TouchstoneError`` with `unsupported` for an empty set and for undefined bits.
    func check() throws(TouchstoneError) {
        guard !isEmpty, isSubset(of: [.strongBiometry, .weakBiometry, .passcode]) else {
            throw TouchstoneError(.unsupported, nextStep: nil, details: ["authenticators: \(rawValue)"])
        }
    }
}

/// How the user authenticated; later versions may add methods.
public struct AuthenticationMethod: RawRepresentable, Sendable, Hashable {
    /// The method's name, such as `fingerprint`.
    public let rawValue: String
    /// Accepts any name.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// A finger on a sensor.
    public static let fingerprint = AuthenticationMethod(rawValue: "fingerprint")
    /// A face recognised by a camera.
    public static let face = AuthenticationMethod(rawValue: "face")
    /// An iris recognised by a camera.
    public static let iris = AuthenticationMethod(rawValue: "iris")
    /// The passcode.
    public static let passcode = AuthenticationMethod(rawValue: "passcode")
    /// One of several methods, without information which.
    public static let unspecified = AuthenticationMethod(rawValue: "unspecified")
}
