internal import AccountStore
internal import RelyingParty
internal import WebAuthnModel

/// What an operation demands of an authentication: a level, and facts that the device must state.
///
/// | level | what is proven |
/// |---|---|
/// | `low` | anything, also a password |
/// | `substantial` | a key signed, and its authenticator verified the user (flag UV) |
/// | `high` | the same by a key that a trusted attestation binds to a chip |
public struct AssuranceDemand: Sendable, Equatable {
    /// A level, in the words of `Touchstone`'s `Assurance.Level`.
    public enum Level: String, Sendable, CaseIterable, Comparable {
        /// A password, or more.
        case low
        /// A key that verified its user.
        case substantial
        /// A key in a chip that verified its user.
        case high

        /// By strength.
        public static func < (a: Self, b: Self) -> Bool { a.rank < b.rank }

        private var rank: Int { Self.allCases.firstIndex(of: self) ?? 0 }
    }

    /// The facts that a device can state of a use, in the words of `Touchstone`'s `Assurance.Fact`.
    static let facts = ["keyBound", "perUse", "currentSet", "strongSensor", "passcodeUsed"]

    /// The least level.
    public let level: Level
    /// Facts that a device with a key in a certified TPM must state; it alone knows them.
    public let facts: Set<String>

    /// Demands nothing.
    public static let none = AssuranceDemand(.low)

    /// Creates a demand.
    public init(_ level: Level, facts: Set<String> = []) {
        self.level = level
        self.facts = facts
    }

    /// Whether anything is demanded that a password does not have.
    var isBeyondPassword: Bool { self != .none }

    /// Level and facts as words.
    var words: [String] { [level.rawValue] + facts.sorted() }

    /// Whether a use of a credential can meet it, whatever is proven and stated then.
    func canBeMet(by credential: Credential) -> Bool {
        let most = ProvenAssurance.most(of: credential)
        return credential.suspension == nil && most >= level
            && (facts.isEmpty || credential.isCertifiedDevice)
    }

    /// Whether a device whose keys have this protection may be able to meet it; the protection is a word of `Touchstone`'s
    /// `HardwareLevel`, nil for a client that says nothing.
    func canBeMet(by hardware: String?) -> Bool {
        switch hardware {
        case "test": !isBeyondPassword
        case "software", "separateAccount": level < .high && facts.isEmpty
        // It is attested as well, but states no more than `substantial`, as its limit of guesses can be reset.
        case "weakTPM": level < .high
        // What later clients may say is judged at the registration.
        default: true
        }
    }
}

/// What an authentication is worth: what is proven of it, and the facts that a device stated whose key a chip attested.
///
/// A device's own statement lowers the level; it never raises it.
struct ProvenAssurance: Equatable {
    let level: AssuranceDemand.Level
    let facts: Set<String>

    /// Of a password, a link or a recovery code.
    static let password = ProvenAssurance(level: .low, facts: [])

    /// The most that a use of a credential can be worth.
    static func most(of credential: Credential) -> AssuranceDemand.Level {
        credential.isHardwareBound ? .high : .substantial
    }

    private init(level: AssuranceDemand.Level, facts: Set<String>) {
        self.level = level
        self.facts = facts
    }

    /// Of a use of a credential whose signature is verified.
    init(of credential: Credential, userVerified: Bool, _ statement: DeviceStatement?) {
        var level = userVerified ? Self.most(of: credential) : .low
        // An unknown level, such as `test`, is worth nothing.
        if let statement { level = min(level, AssuranceDemand.Level(rawValue: statement.level) ?? .low) }
        self.level = level
        facts = credential.isCertifiedDevice ? statement?.facts ?? [] : []
    }

    /// Of a session's last authentication, as it was stored.
    init(of session: Session) {
        level = session.assurance.first.flatMap(AssuranceDemand.Level.init) ?? .low
        facts = Set(session.assurance.dropFirst())
    }

    /// Level and facts as words, for a session.
    var words: [String] { [level.rawValue] + facts.sorted() }

    /// What it lacks of a demand, for developers of clients; nil if it suffices.
    func shortfall(of demand: AssuranceDemand) -> String? {
        let missing = demand.facts.subtracting(facts).sorted()
        guard level < demand.level || !missing.isEmpty else { return nil }
        let lacking = missing.isEmpty ? "" : ", without \(missing.joined(separator: ", "))"
        return "this needs \(demand.words.joined(separator: " ")); it is \(level.rawValue)\(lacking)"
    }
}

extension Credential {
    /// Whether it is a device's, with a key in a TPM that a trusted party certified.
    fileprivate var isCertifiedDevice: Bool { kind == .device && assurance == .tpm && isHardwareBound }
}

extension Problem {
    /// The operation demands more than an authentication was worth.
    static func insufficientAssurance(_ shortfall: String) -> Problem {
        Problem(.insufficientAssurance, shortfall)
    }
}

extension Service {
    /// Requires of a session's last authentication what the setting for changes of credentials demands.
    ///
    /// An account without a credential that could meet the demand is held to what it has, so that it can get one.
    ///
    /// - Throws: ``Problem`` with `insufficient_user_authentication`; ``StoreError``.
    func requireAssurance(of session: AuthenticatedSession) async throws {
        let demand = configuration.requiredAssuranceStepUp
        guard demand.isBeyondPassword,
            let shortfall = ProvenAssurance(of: session.session).shortfall(of: demand)
        else { return }
        let credentials = try await store.credentials(of: session.account.id)
        guard credentials.contains(where: demand.canBeMet) else { return }
        var problem = Problem(.insufficientUserAuthentication, shortfall)
        problem.stepUp = Problem.StepUp(acrValues: demand.level.acrValues, maxAge: configuration.freshness)
        throw problem
    }
}

extension AssuranceDemand.Level {
    /// The authentication contexts that may reach it, the strongest first, separated by blanks.
    fileprivate var acrValues: String {
        let least =
            switch self {
            case .low: AuthenticationContext.password
            case .substantial: AuthenticationContext.phishingResistant
            case .high: AuthenticationContext.phishingResistantHardware
            }
        return AuthenticationContext.atLeast(least).joined(separator: " ")
    }
}
