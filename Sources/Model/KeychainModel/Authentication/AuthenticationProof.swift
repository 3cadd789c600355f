public import SecretMemory

/// What the authentication engine gives for a success, and the only thing that the keychain accepts for it.
///
/// Its initialiser is for the engine alone (`@_spi(AuthenticationEngine)`; CI checks that nobody else asks
/// for it). A proof never leaves the daemon.
public struct AuthenticationProof: Sendable {
    /// What was shown.
    public let factors: Set<AuthenticationFactor>
    /// The constraints that were asked for and met, with all weaker ones.
    public let satisfied: Set<AccessConstraint>
    /// The operation it was asked for; nil for a policy, which holds for every operation.
    public let operation: AccessOperation?
    /// When it was shown.
    public let time: BootTime
    /// The context it was shown for.
    public let context: ContextID
    /// The key that only the passcode opens, where the passcode was shown.
    public let passcodeKey: PasscodeKey?

    /// Makes a proof; for the authentication engine alone.
    @_spi(AuthenticationEngine)
    public init(
        factors: Set<AuthenticationFactor>,
        satisfied: Set<AccessConstraint>,
        operation: AccessOperation?,
        time: BootTime,
        context: ContextID,
        passcodeKey: PasscodeKey?
    ) {
        self.factors = factors
        self.satisfied = satisfied
        self.operation = operation
        self.time = time
        self.context = context
        self.passcodeKey = passcodeKey
    }
}

/// Names an authentication context: it belongs to the connection that made it.
public struct ContextID: Hashable, Sendable {
    /// The daemon's own number of the connection.
    public let connection: UInt64
    /// The number of the context on that connection.
    public let number: UInt64

    /// Names a context of a connection.
    public init(connection: UInt64, number: UInt64) {
        self.connection = connection
        self.number = number
    }
}

/// The private key that opens items constrained to the passcode: derived in one evaluation, wiped with it.
public final class PasscodeKey: Sendable {
    private let secret: SecretBytes

    /// Takes over the key.
    public init(_ secret: consuming SecretBytes) { self.secret = secret }

    /// Lends the key's bytes for the length of `body`.
    public func withOctets<R, E: Error>(_ body: (Span<UInt8>) throws(E) -> R) throws(E) -> R {
        try secret.withOctets(body)
    }
}

/// An application password set on a context (`LAContext.setCredential`), shared by those who use the context.
public final class ApplicationPassword: Sendable {
    private let secret: SecretBytes

    /// Takes over the password's bytes.
    public init(_ secret: consuming SecretBytes) { self.secret = secret }

    /// Lends the password's bytes for the length of `body`.
    public func withOctets<R, E: Error>(_ body: (Span<UInt8>) throws(E) -> R) throws(E) -> R {
        try secret.withOctets(body)
    }
}

/// What a request may use to open items: the proofs of its context and its application password.
public struct ItemAuthorization: Sendable {
    /// The proofs of the context, newest last.
    public var proofs: [AuthenticationProof]
    /// The context's application password.
    public var applicationPassword: ApplicationPassword?

    /// Holds what a context has.
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
