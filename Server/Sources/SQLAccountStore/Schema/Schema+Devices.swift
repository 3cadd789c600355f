extension Schema {
    /// What devices say of themselves, what their owners consented to, what the last authentication of a session was worth, and
    /// attested keys that are no credentials; and words that a program of the former version cannot read, the suspensions that a
    /// device reported.
    static let ninth = [
        "ALTER TABLE credentials ADD COLUMN statement TEXT",
        "ALTER TABLE credentials ADD COLUMN consent TEXT",
        "ALTER TABLE sessions ADD COLUMN assurance TEXT NOT NULL DEFAULT ''",
        """
        CREATE TABLE attested_keys (
            id BYTES NOT NULL PRIMARY KEY, account BYTES NOT NULL, purpose TEXT NOT NULL, name TEXT NOT NULL,
            public_key BYTES NOT NULL, device_anchor BYTES, created_at NUMBER NOT NULL
        ) BY KEY
        """,
        "CREATE INDEX attested_keys_of_account ON attested_keys (account)",
    ]
}
