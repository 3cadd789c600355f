/// A transaction that its owner confirms with a credential; its challenge is derived from it.
public struct Transaction: Sendable, Equatable {
    /// The status; the store keeps all but ``expired``, which is a pending transaction past its time.
    public enum Status: String, Sendable, CaseIterable {
        /// Not decided yet.
        case pending
        /// Confirmed.
        case approved
        /// Rejected by the owner.
        case rejected
        /// Not decided in time.
        case expired
        /// A confirmation was invalid.
        case failed
    }

    /// The transaction's id.
    public let id: TransactionID
    /// The account that has to confirm it.
    public let account: AccountID
    /// The kind of transaction.
    public let type: String
    /// The details to confirm, JSON.
    public let details: String
    /// 32 random bytes that enter the challenge.
    public let nonce: [UInt8]
    /// The complete options sent to the client, JSON.
    public let options: String
    /// When it was created.
    public let createdAt: Timestamp
    /// When it expires.
    public let expiresAt: Timestamp
    /// The status.
    public var status: Status
    /// When it was decided.
    public var decidedAt: Timestamp?
    /// The evidence that proves the confirmation to others.
    public var evidence: TransactionEvidence?

    /// Creates a transaction that is not decided yet.
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

/// The evidence that proves a confirmation to others, even after the credential was removed.
public struct TransactionEvidence: Sendable, Equatable {
    /// The credential's id.
    public let credential: CredentialID
    /// Its public key, a COSE key.
    public let publicKey: [UInt8]
    /// The client data that was signed.
    public let clientDataJSON: [UInt8]
    /// The authenticator data.
    public let authenticatorData: [UInt8]
    /// The signature.
    public let signature: [UInt8]

    /// Creates evidence.
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
