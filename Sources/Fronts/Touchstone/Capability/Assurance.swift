/// What one use is worth to a server: facts, and a level that follows from them alone.
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
        /// Worth nothing: a test.
        case test
        /// The user was asked, and nothing more is certain.
        case low
        /// A key was used for this one operation, by the enrolled fingers of today or the passcode.
        case substantial
        /// The same in hardware, by a sensor that is known to be strong, or by the passcode.
        case high
    }

    /// Something that is so; the set grows.
    public struct Fact: RawRepresentable, Sendable, Hashable {
        /// The fact's name, such as `keyBound`.
        public let rawValue: String
        /// Accepts any name.
        public init(rawValue: String) { self.rawValue = rawValue }

        /// A key was used, which its rule released.
        public static let keyBound = Fact(rawValue: "keyBound")
        /// The prompt counted for this use alone.
        public static let perUse = Fact(rawValue: "perUse")
        /// The rule ends with the enrolled set of fingers.
        public static let currentSet = Fact(rawValue: "currentSet")
        /// The sensor is graded strong by the administrator or by what is known of its driver.
        public static let strongSensor = Fact(rawValue: "strongSensor")
        /// The passcode was entered.
        public static let passcodeUsed = Fact(rawValue: "passcodeUsed")
    }

    /// What follows from the facts.
    public let level: Level
    /// What is so.
    public let facts: Set<Fact>
    /// What the user showed; nil where nobody was asked.
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
    /// A file of the user and the passcode.
    case software
    /// A file of another account on the same machine.
    case separateAccount
    /// A TPM whose count of wrong passcodes anybody can reset.
    case weakTPM
    /// Hardware that limits guesses: a TPM, a Secure Enclave.
    case hardware
}
