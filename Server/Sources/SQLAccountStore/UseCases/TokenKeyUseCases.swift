internal import AccountStore

private enum Statements {
    static let publish = SQLStatement(
        """
        INSERT INTO token_keys (thumbprint, public_key, expires_at) VALUES ($1, $2, $3)
        ON CONFLICT (thumbprint) DO UPDATE SET expires_at = $3
        """
    )
    static let published = SQLStatement(
        """
        SELECT thumbprint, public_key, expires_at FROM token_keys WHERE expires_at > $1
        ORDER BY expires_at DESC, thumbprint
        """
    )
}

extension SQLConnection {
    func publish(_ key: PublishedKey) throws {
        try execute(
            Statements.publish,
            .bytes(key.thumbprint),
            .bytes(key.rawRepresentation),
            .of(key.expiresAt)
        )
    }

    func publishedKeys(now: Timestamp) throws -> [PublishedKey] {
        try rows(Statements.published, .of(now)).map { row in
            var row = row
            return PublishedKey(
                thumbprint: try row.bytes(),
                rawRepresentation: try row.bytes(),
                expiresAt: try row.time()
            )
        }
    }
}
