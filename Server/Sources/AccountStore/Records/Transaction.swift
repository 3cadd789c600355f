/// Something that somebody confirms with a credential; its challenge is made of it.
public struct Transaction: Sendable, Equatable {
    /// Where it stands; the store keeps all but ``expired``, which is pending and too late.
    public enum Status: String, Sendable, CaseIterable {
        /// Nobody decided.
        case pending
        /// It was confirmed.
        case approved
        /// Its owner does not want it.
        case rejected
        /// Nobody decided in time.
        case expired
        /// A confirmation came that was not good.
        case failed
    }

    /// Its id.
    public let id: TransactionID
    /// Who has to confirm it.
    public let account: AccountID
    /// The kind of transaction.
    public let type: String
    /// What is confirmed, JSON.
    public let details: String
    /// 32 random bytes in the challenge.
    public let nonce: [UInt8]
    /// The full options as the client gets them, JSON.
    public let options: String
    /// When it was made.
    public let createdAt: Timestamp
    /// Until when it can be decided.
    public let expiresAt: Timestamp
    /// Where it stands.
    public var status: Status
    /// When it was decided.
    public var decidedAt: Timestamp?
    /// What shows the confirmation to somebody else.
    public var evidence: TransactionEvidence?

    /// Describes a transaction that nobody decided yet.
    public init(
        id: TransactionID,
        account: AccountID,
        type: String,
        details: String,
        nonce: [UInt8],
        options: String,
        createdAt: Timestamp,
        expiresAt: Timestamp
    ) {
        self.id = id
        self.account = account
        self.type = type
        self.details = details
        self.nonce = nonce
        self.options = options
        self.createdAt = createdAt
        self.expiresAt = expiresAt
        status = .pending
    }
}

/// What shows a confirmation to somebody else, also when the credential is long gone.
public struct TransactionEvidence: Sendable, Equatable {
    /// Which credential.
    public let credential: CredentialID
    /// Its public key, a COSE key.
    public let publicKey: [UInt8]
    /// What the client signed over.
    public let clientDataJSON: [UInt8]
    /// What the authenticator said.
    public let authenticatorData: [UInt8]
    /// The signature.
    public let signature: [UInt8]

    /// Describes evidence.
    public init(
        credential: CredentialID,
        publicKey: [UInt8],
        clientDataJSON: [UInt8],
        authenticatorData: [UInt8],
        signature: [UInt8]
    ) {
        self.credential = credential
        self.publicKey = publicKey
        self.clientDataJSON = clientDataJSON
        self.authenticatorData = authenticatorData
        self.signature = signature
    }
}
