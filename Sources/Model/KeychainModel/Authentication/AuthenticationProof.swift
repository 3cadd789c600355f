public import SecretMemory

/// The authentication engine's proof of a success, which alone releases protected keys.
///
/// Only the engine may use its initialiser (`@_spi(AuthenticationEngine)`; CI checks that no other target imports
/// it). A proof never leaves the daemon.
public struct AuthenticationProof: Sendable {
    /// The factors that were shown.
    public let factors: Set<AuthenticationFactor>
    /// The constraints that were requested and met, with all weaker ones.
    public let satisfied: Set<AccessConstraint>
    /// The operation it was requested for; nil for a policy, which covers every operation.
    public let operation: AccessOperation?
    /// When the factors were shown.
    public let time: BootTime
    /// The context they were shown for.
    public let context: ContextID
    /// The key derived from the passcode; nil if the passcode was not shown.
    public let passcodeKey: PasscodeKey?
    /// Whether the finger was shown on a weak sensor (``SensorFacts/isWeak``).
    public let isOfWeakSensor: Bool

    /// Creates a proof; for the authentication engine only.
    @_spi(AuthenticationEngine)
    public init(
        factors: Set<AuthenticationFactor>,
        satisfied: Set<AccessConstraint>,
        operation: AccessOperation?,
        time: BootTime,
        context: ContextID,
        passcodeKey: PasscodeKey?,
        isOfWeakSensor: Bool
    ) {
        self.factors = factors
        self.satisfied = satisfied
        self.operation = operation
        self.time = time
        self.context = context
        self.passcodeKey = passcodeKey
        self.isOfWeakSensor = isOfWeakSensor
    }
}

/// Identifies an authentication context, which belongs to the connection that created it.
public struct ContextID: Hashable, Sendable {
    /// The daemon's number of the connection.
    public let connection: UInt64
    /// The number of the context on that connection.
    public let number: UInt64

    /// Identifies a context of a connection.
    public init(connection: UInt64, number: UInt64) {
        self.connection = connection
        self.number = number
    }
}

/// The private key that opens items constrained to the passcode: derived for one evaluation and wiped with it.
public final class PasscodeKey: Sendable {
    private let secret: SecretBytes

    /// Takes over the key.
    public init(_ secret: consuming SecretBytes) { self.secret = secret }

    /// Lends the key's bytes for the length of `body`.
    public func withOctets<R, E: Error>(_ body: (Span<UInt8>) throws(E) -> R) throws(E) -> R {
        try secret.withOctets(body)
    }
}

/// An application password set on a context (`LAContext.setCredential`) or typed by the user for it, shared by the context's
/// requests.
public final class ApplicationPassword: Sendable {
    private let secret: SecretBytes

    /// Takes over the password's bytes.
    public init(_ secret: consuming SecretBytes) { self.secret = secret }

    /// Lends the password's bytes for the length of `body`.
    public func withOctets<R, E: Error>(_ body: (Span<UInt8>) throws(E) -> R) throws(E) -> R {
        try secret.withOctets(body)
    }
}

/// The key derived from an application password for one keychain: derived for one request and wiped with it.
public final class PasswordKey: Sendable {
    private let secret: SecretBytes

    /// Takes over the key.
    public init(_ secret: consuming SecretBytes) { self.secret = secret }

    /// Lends the key's bytes for the length of `body`.
    public func withOctets<R, E: Error>(_ body: (Span<UInt8>) throws(E) -> R) throws(E) -> R {
        try secret.withOctets(body)
    }
}

/// The authorisation of a request to open items: its context's proofs and application password.
public struct ItemAuthorization: Sendable {
    /// The proofs of the context, newest last.
    public var proofs: [AuthenticationProof]
    /// The context's application password.
    public var applicationPassword: ApplicationPassword?
    /// The key of ``applicationPassword`` (``ItemVault/key(of:)``); nil before it was derived.
    public var passwordKey: PasswordKey?

    /// Combines a context's proofs and password.
    public init(proofs: [AuthenticationProof] = [], applicationPassword: ApplicationPassword? = nil) {
        self.proofs = proofs
        self.applicationPassword = applicationPassword
    }

    /// The proofs that count towards an access control, for one operation.
    public func proofs(
        covering control: AccessControl,
        for operation: AccessOperation
    ) -> [AuthenticationProof] {
        proofs.filter { control.covered(by: $0, for: operation) }
    }
}
