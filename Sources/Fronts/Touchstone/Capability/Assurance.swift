/// What one use of a key or prompt is worth to a server: a set of facts, and the level that follows from
/// them.
///
/// | level | facts |
/// |---|---|
/// | `high` | ``Fact/keyBound``, ``Fact/perUse``, hardware ``HardwareLevel/hardware``, and either ``Fact/strongSensor`` with ``Fact/currentSet`` or ``Fact/passcodeUsed`` |
/// | `substantial` | ``Fact/keyBound``, ``Fact/perUse``, and ``Fact/currentSet`` or ``Fact/passcodeUsed`` |
/// | `low` | all else |
/// | `test` | a part of the keychain is a test part |
public struct Assurance: Sendable, Hashable {
    /// A level, weakest first.
    public enum Level: Sendable, Comparable {
        /// Worth nothing: the keychain has test parts.
        case test
        /// The user was asked, and nothing more is certain.
        case low
        /// A key was used for this one operation, authorised by a currently enrolled finger or the passcode.
        case substantial
        /// As `substantial`, with hardware protection, by a sensor graded strong or by the passcode.
        case high
    }

    /// One proven property of a use; new facts may be added in later versions.
    public struct Fact: RawRepresentable, Sendable, Hashable {
        /// The fact's name, such as `keyBound`.
        public let rawValue: String
        /// Accepts any name.
        public init(rawValue: String) { self.rawValue = rawValue }

        /// A key was used, after its rule was met.
        public static let keyBound = Fact(rawValue: "keyBound")
        /// The prompt authorised this use alone.
        public static let perUse = Fact(rawValue: "perUse")
        /// The rule is bound to the set of enrolled fingers: it ends when the set changes.
        public static let currentSet = Fact(rawValue: "currentSet")
        /// The sensor is graded strong, by the administrator or from what is known of its driver.
        public static let strongSensor = Fact(rawValue: "strongSensor")
        /// The passcode was entered.
        public static let passcodeUsed = Fact(rawValue: "passcodeUsed")
    }

    /// The level that follows from ``facts`` and ``hardware``.
    public let level: Level
    /// The proven facts.
    public let facts: Set<Fact>
    /// The method that the user authenticated with; nil if there was no prompt.
    public let method: AuthenticationMethod?
    /// What protects the keys.
    public let hardware: HardwareLevel

    init(facts: Set<Fact>, method: AuthenticationMethod?, hardware: HardwareLevel) {
        self.facts = facts
        self.method = method
        self.hardware = hardware
        let isBound = facts.isSuperset(of: [.keyBound, .perUse])
        let isHigh =
            hardware == .hardware
            && (facts.isSuperset(of: [.strongSensor, .currentSet]) || facts.contains(.passcodeUsed))
        let isSubstantial = facts.contains(.currentSet) || facts.contains(.passcodeUsed)
        level =
            if hardware == .test {
                .test
            } else if isBound, isHigh {
                .high
            } else if isBound, isSubstantial {
                .substantial
            } else {
                .low
            }
    }
}

/// What protects the keys, weakest first; `touchstone status` says why.
public enum HardwareLevel: Sendable, Comparable {
    /// A part of the keychain is a test part.
    case test
    /// A file of the user, encrypted with the passcode.
    case software
    /// A file of a separate account on the same machine.
    case separateAccount
    /// A TPM whose lockout counter for wrong passcodes can be reset without authorisation.
    case weakTPM
    /// Hardware that limits passcode attempts: a TPM or a Secure Enclave.
    case hardware
}

extension HardwareLevel {
    /// The name in stored rules and in the records of keys.
    var storedName: String {
        switch self {
        case .test: "test"
        case .software: "software"
        case .separateAccount: "separateAccount"
        case .weakTPM: "weakTPM"
        case .hardware: "hardware"
        }
    }
}
