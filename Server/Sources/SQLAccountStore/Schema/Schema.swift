package import AccountStore

/// The tables, in the SQL of both databases, and their migrations.
///
/// There are no foreign keys and no indices by time: rows are distributed over machines by account, and expired rows
/// are found by scanning a table in key order.
package enum Schema {
    /// The version that this program works with.
    package static var version: Int { migrations(.sqlite).count }

    /// The changes of each version, with placeholders for a dialect.
    private static func migrations(_ dialect: Dialect) -> [[String]] {
        [first, second, dialect == .sqlite ? third : [], fourth, fifth, sixth, seventh, eighth, ninth]
    }

    /// Translates the placeholders to a database's SQL.
    package enum Dialect: Sendable {
        case sqlite
        case postgreSQL

        package func translate(_ text: String) -> String {
            switch self {
            case .sqlite:
                text.replacing("BYTES", with: "BLOB").replacing("NUMBER", with: "INTEGER")
                    .replacing("POSITION", with: "INTEGER PRIMARY KEY AUTOINCREMENT")
                    .replacing("NAME", with: "TEXT")
                    .replacing("BY KEY", with: "STRICT, WITHOUT ROWID").replacing("BY ROW", with: "STRICT")
            case .postgreSQL:
                text.replacing("BYTES", with: "BYTEA").replacing("NUMBER", with: "BIGINT")
                    .replacing("POSITION", with: "BIGINT PRIMARY KEY DEFAULT \(postgreSQLPosition)")
                    .replacing("NAME", with: "TEXT COLLATE \"C\"")
                    .replacing(" BY KEY", with: "").replacing(" BY ROW", with: "")
            }
        }
    }

    /// A record's position: its transaction's number followed by its own, so that records still being written have
    /// higher positions than all those below the oldest running transaction.
    private static let postgreSQLPosition = """
        ((pg_current_xact_id()::text::bigint << 20) | (nextval('audit_numbers') & 1048575))
        """

    /// The statements that migrate from a version to ``version``; empty for a newer one.
    package static func statements(from old: Int, _ dialect: Dialect) -> [String] {
        let before = dialect == .postgreSQL && old == 0 ? ["CREATE SEQUENCE audit_numbers"] : []
        return before + migrations(dialect).dropFirst(old).flatMap { $0 }.map { dialect.translate($0) }
    }

    /// Checks the version found in a database; nil: it has no table of versions.
    package static func check(_ found: Int?) throws(StoreError) {
        let found = found ?? 0
        if found > version {
            throw StoreError(
                .newerSchema,
                cause: "the database has version \(found), this program knows \(version)"
            )
        }
        if found < version {
            throw StoreError(
                .notMigrated,
                cause: "the database has version \(found), this program needs \(version): run migrate"
            )
        }
    }

    /// The table with the version.
    package static let versionTable =
        "CREATE TABLE IF NOT EXISTS schema_version (version NUMBER NOT NULL) BY ROW"

    private static let first = [
        """
        CREATE TABLE accounts (
            id BYTES NOT NULL PRIMARY KEY, username NAME NOT NULL UNIQUE, display_name TEXT NOT NULL,
            created_at NUMBER NOT NULL, locked_at NUMBER, password_hash TEXT, password_changed_at NUMBER
        ) BY KEY
        """,
        """
        CREATE TABLE credentials (
            id BYTES NOT NULL PRIMARY KEY, account BYTES NOT NULL, kind TEXT NOT NULL, label TEXT NOT NULL,
            public_key BYTES NOT NULL, sign_count NUMBER NOT NULL, uv_initialized NUMBER NOT NULL,
            backup_eligible NUMBER NOT NULL, backup_state NUMBER NOT NULL, hardware_bound NUMBER NOT NULL,
            transports TEXT NOT NULL, aaguid BYTES NOT NULL, assurance TEXT NOT NULL, uv_evidence TEXT NOT NULL,
            device_anchor BYTES, thumbprint BYTES, created_at NUMBER NOT NULL, last_used_at NUMBER, suspension TEXT
        ) BY KEY
        """,
        "CREATE INDEX credentials_of_account ON credentials (account)",
        """
        CREATE TABLE sessions (
            account BYTES NOT NULL, id BYTES NOT NULL, credential BYTES, acr TEXT NOT NULL, amr TEXT NOT NULL,
            auth_time NUMBER NOT NULL, created_at NUMBER NOT NULL, last_used_at NUMBER NOT NULL,
            expires_at NUMBER NOT NULL, idle_lifetime NUMBER NOT NULL, thumbprint BYTES, client TEXT NOT NULL,
            address TEXT NOT NULL, epoch NUMBER NOT NULL, PRIMARY KEY (account, id)
        ) BY KEY
        """,
        """
        CREATE TABLE access_tokens (
            digest BYTES NOT NULL PRIMARY KEY, account BYTES NOT NULL, session BYTES NOT NULL,
            epoch NUMBER NOT NULL, expires_at NUMBER NOT NULL
        ) BY KEY
        """,
        """
        CREATE TABLE refresh_tokens (
            digest BYTES NOT NULL PRIMARY KEY, account BYTES NOT NULL, session BYTES NOT NULL,
            epoch NUMBER NOT NULL, expires_at NUMBER NOT NULL, parent BYTES, replaced_at NUMBER,
            successor_used NUMBER NOT NULL
        ) BY KEY
        """,
        """
        CREATE TABLE ceremonies (
            id BYTES NOT NULL PRIMARY KEY, purpose TEXT NOT NULL, account BYTES, session BYTES,
            options TEXT NOT NULL, expires_at NUMBER NOT NULL
        ) BY ROW
        """,
        """
        CREATE TABLE activations (
            id BYTES NOT NULL PRIMARY KEY, account BYTES NOT NULL, secret_digest BYTES NOT NULL,
            attestation_key BYTES NOT NULL, device_anchor BYTES NOT NULL, expires_at NUMBER NOT NULL
        ) BY ROW
        """,
        """
        CREATE TABLE attestation_keys (
            certificate BYTES NOT NULL PRIMARY KEY, account BYTES NOT NULL, device_anchor BYTES NOT NULL,
            expires_at NUMBER NOT NULL
        ) BY KEY
        """,
        """
        CREATE TABLE transactions (
            id BYTES NOT NULL PRIMARY KEY, account BYTES NOT NULL, type TEXT NOT NULL, details TEXT NOT NULL,
            nonce BYTES NOT NULL, options TEXT NOT NULL, created_at NUMBER NOT NULL, expires_at NUMBER NOT NULL,
            status TEXT NOT NULL, decided_at NUMBER, credential BYTES, public_key BYTES, client_data BYTES,
            authenticator_data BYTES, signature BYTES
        ) BY ROW
        """,
        """
        CREATE TABLE limits (
            key BYTES NOT NULL PRIMARY KEY, count NUMBER NOT NULL, since NUMBER NOT NULL,
            expires_at NUMBER NOT NULL
        ) BY KEY
        """,
        "CREATE TABLE proofs (digest BYTES NOT NULL PRIMARY KEY, expires_at NUMBER NOT NULL) BY KEY",
        """
        CREATE TABLE audit (
            position POSITION, chain BYTES NOT NULL, sequence NUMBER NOT NULL, time NUMBER NOT NULL,
            name TEXT NOT NULL, session BYTES, credential BYTES, address TEXT NOT NULL, trace TEXT NOT NULL,
            reason TEXT NOT NULL, details TEXT NOT NULL, previous_hash BYTES NOT NULL, hash BYTES NOT NULL
        ) BY ROW
        """,
        "CREATE UNIQUE INDEX audit_chain ON audit (chain, sequence)",
        """
        CREATE TABLE admin_tokens (
            digest BYTES NOT NULL PRIMARY KEY, name TEXT NOT NULL, created_at NUMBER NOT NULL, expires_at NUMBER
        ) BY KEY
        """,
        """
        CREATE TABLE first_admin (
            slot NUMBER NOT NULL PRIMARY KEY, digest BYTES NOT NULL, expires_at NUMBER NOT NULL
        ) BY ROW
        """,
        "CREATE TABLE secrets (name TEXT NOT NULL PRIMARY KEY, value BYTES NOT NULL) BY KEY",
        "CREATE TABLE heartbeats (instance BYTES NOT NULL PRIMARY KEY, expires_at NUMBER NOT NULL) BY KEY",
    ]

    /// For the page that lists the owner's pending transactions.
    private static let second = ["CREATE INDEX transactions_of_account ON transactions (account)"]

    /// Ceremonies in the order of their ids: SQLite keeps one tree for them instead of two, both changed twice by a login.
    private static let third = [
        "CREATE TABLE ceremonies_by_row AS SELECT * FROM ceremonies",
        "DROP TABLE ceremonies",
        """
        CREATE TABLE ceremonies (
            id BYTES NOT NULL PRIMARY KEY, purpose TEXT NOT NULL, account BYTES, session BYTES,
            options TEXT NOT NULL, expires_at NUMBER NOT NULL
        ) BY KEY
        """,
        "INSERT INTO ceremonies SELECT * FROM ceremonies_by_row",
        "DROP TABLE ceremonies_by_row",
    ]

    /// When a ceremony was opened; one that is open during the migration is older than every use of a credential.
    private static let fourth = ["ALTER TABLE ceremonies ADD COLUMN opened_at NUMBER NOT NULL DEFAULT 0"]

    /// What access tokens open; those issued before open the account's API of this server.
    private static let fifth = [
        "ALTER TABLE access_tokens ADD COLUMN audience TEXT",
        "ALTER TABLE access_tokens ADD COLUMN scope TEXT",
    ]

    /// Public keys of access tokens in the form of a JWT.
    private static let sixth = [
        """
        CREATE TABLE token_keys (
            thumbprint BYTES NOT NULL PRIMARY KEY, public_key BYTES NOT NULL, expires_at NUMBER NOT NULL
        ) BY KEY
        """
    ]

    /// Limited sessions, passwords that have to be changed, links and recovery codes.
    private static let seventh = [
        "ALTER TABLE sessions ADD COLUMN task TEXT",
        "ALTER TABLE accounts ADD COLUMN password_must_change NUMBER NOT NULL DEFAULT 0",
        """
        CREATE TABLE account_links (
            digest BYTES NOT NULL PRIMARY KEY, account BYTES NOT NULL, kind TEXT NOT NULL, credentials TEXT NOT NULL,
            created_at NUMBER NOT NULL, expires_at NUMBER NOT NULL
        ) BY KEY
        """,
        "CREATE INDEX links_of_account ON account_links (account)",
        """
        CREATE TABLE recovery_codes (
            account BYTES NOT NULL, digest BYTES NOT NULL, created_at NUMBER NOT NULL, PRIMARY KEY (account, digest)
        ) BY KEY
        """,
    ]

    /// What administrators may do, those from before everything; and what waits for the mail hook.
    private static let eighth = [
        "ALTER TABLE admin_tokens ADD COLUMN role TEXT NOT NULL DEFAULT 'all'",
        """
        CREATE TABLE notices (
            id BYTES NOT NULL PRIMARY KEY, event TEXT NOT NULL, account BYTES NOT NULL, username TEXT NOT NULL,
            display_name TEXT NOT NULL, time NUMBER NOT NULL, expires_at NUMBER NOT NULL, attempts NUMBER NOT NULL,
            by_administrator NUMBER NOT NULL, address TEXT NOT NULL, trace TEXT NOT NULL, reason TEXT NOT NULL,
            link TEXT, due_at NUMBER NOT NULL
        ) BY KEY
        """,
    ]
}
