internal import KeychainModel

/// The exact tables: a file with a different schema is refused.
enum ItemSchema {
    /// `PRAGMA user_version`; a file with a greater one belongs to a newer program and is left unchanged.
    ///
    /// 1: the set's record (`item_set`) is one row, computed over the attributes of each item. 2: with the tags of all
    /// rows (``ItemTags``). 3: its digest has more than one section (``ItemSetDigest``). The tables are the same; a file
    /// of format 1 gets the new record at its first unlock. 4: sealed attributes may have a digest of the sealed data
    /// (``DataDigest``). Each file becomes format 4 with its next change. From 4 on, the upper half of the number in the
    /// file has the complement of the lower (``userVersion(of:)``).
    static let version = 4
    static let sectionsVersion = 3
    static let formerVersion = 1
    /// `PRAGMA application_id`: "TchS".
    static let applicationID = 0x5463_6853
    /// Small pages: a change rewrites whole pages, one for each index, usually for a single entry each.
    static let pageByteCount = 1024

    /// The number in the file for a format.
    static func userVersion(of version: Int) -> Int32 {
        version < 4 ? Int32(version) : Int32(bitPattern: UInt32(~version & 0xFFFF) << 16 | UInt32(version))
    }

    /// The format for the number in a file; nil if it is none of this program's.
    static func version(of userVersion: UInt32) -> Int? {
        (formerVersion...version).first { UInt32(bitPattern: self.userVersion(of: $0)) == userVersion }
    }

    /// Whether `number` is the user version of a newer format: a wrong bit, byte or sector does not look like one.
    static func isNewer(_ number: UInt32) -> Bool {
        number >> 16 == ~number & 0xFFFF && number & 0xFFFF > version
    }

    static let items = """
        CREATE TABLE items (\
        id INTEGER PRIMARY KEY, \
        reference BLOB NOT NULL, \
        scope BLOB NOT NULL, \
        first BLOB NOT NULL, \
        name BLOB NOT NULL, \
        second BLOB, \
        label BLOB, \
        attributes BLOB NOT NULL, \
        keys BLOB, \
        data BLOB\
        ) STRICT
        """

    /// All statements of the schema, by the names they create.
    ///
    /// One index serves both the whole primary key and its first attribute: each further unordered index costs every
    /// change a page of the log and one of the file.
    static let statements: [String: String] = [
        "items": items,
        "items_first": "CREATE INDEX items_first ON items (first, name)",
        "items_scope": "CREATE INDEX items_scope ON items (scope)",
        "items_second": "CREATE INDEX items_second ON items (second) WHERE second IS NOT NULL",
        "items_label": "CREATE INDEX items_label ON items (label) WHERE label IS NOT NULL",
        "item_set": "CREATE TABLE item_set (id INTEGER PRIMARY KEY, sealed BLOB NOT NULL) STRICT",
    ]

    static func make(in database: ItemDatabase) throws {
        try database.execute("PRAGMA page_size = \(pageByteCount)")
        try database.transaction {
            // A table comes before its indexes: "items" sorts before "items_…".
            for (_, statement) in statements.sorted(by: { $0.key < $1.key }) {
                try database.execute(statement)
            }
            try database.execute("PRAGMA application_id = \(applicationID)")
            try database.execute("PRAGMA user_version = \(userVersion(of: version))")
            return true
        }
    }

    /// Compares the file's schema with this program's.
    ///
    /// - Returns: the file format.
    static func check(_ database: ItemDatabase) throws -> Int {
        let number = try database.number("PRAGMA user_version")
        guard let found = version(of: UInt32(truncatingIfNeeded: number)),
            try database.number("PRAGMA application_id") == applicationID
        else { throw KeychainError.damaged }
        var count = 0
        let rows = try database.statement("SELECT name, sql FROM sqlite_schema")
        try rows.forEach {
            count += 1
            guard let name = rows.columns.text(0), let statement = rows.columns.text(1),
                statements[name] == statement
            else { throw KeychainError.damaged }
            return true
        }
        guard count == statements.count else { throw KeychainError.damaged }
        return found
    }
}
