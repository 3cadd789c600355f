internal import AccountStore
internal import RelyingParty
internal import WebAuthnModel

/// What an import of users did.
public struct UserImportSummary: Sendable, Equatable, CustomStringConvertible {
    /// Accounts that were created, or would be.
    public internal(set) var created = 0
    /// Lines whose name an account has already; it stays as it is.
    public internal(set) var existing = 0
    /// Lines that were refused.
    public internal(set) var refused = 0
    /// Whether nothing was written.
    public let isDryRun: Bool

    /// The numbers, for people.
    public var description: String {
        "\(isDryRun ? "to be created" : "created"): \(created), already there: \(existing), refused: \(refused)"
    }
}

extension ServerProgram {
    /// Creates an account for each line of a file, with a password hash of another program; servers may use the store meanwhile.
    ///
    /// Each line is a transaction of its own, so that an import that was interrupted is run again: names that are there are
    /// passed over.
    ///
    /// - Parameters:
    ///   - configuration: the settings.
    ///   - path: a file of JSON objects, one a line, with the members `username`, `displayName`, `passwordHash` and
    ///     `mustChangePassword`; `-` is standard input.
    ///   - isDryRun: whether only to check the lines, and to write nothing.
    ///   - refused: gets each line that is refused, by its number and the reason.
    ///   - progress: gets the number of lines that are done.
    /// - Returns: what was done.
    /// - Throws: ``InputFault``; ``StartError`` for the store.
    public static func importUsers(
        _ configuration: ServerConfiguration,
        from path: String,
        isDryRun: Bool,
        refused: (String) -> Void = { _ in },
        progress: (_ lines: Int) -> Void = { _ in }
    ) async throws -> UserImportSummary {
        var lines = try InputLines(path)
        let store = try StoreOpener.openThatExists(configuration)
        var done = UserImport(store, isDryRun: isDryRun)
        do {
            var number = 0
            while let line = try lines.next() {
                number += 1
                try await done.add(line, number, refused)
                progress(number)
            }
            try await done.flush(refused)
            await store.close()
            return done.summary
        } catch {
            await store.close()
            throw (error as? StoreError).map { StoreOpener.failure($0, configuration) } ?? error
        }
    }
}

/// An import in progress.
struct UserImport {
    /// How many accounts are created at a time: a database confirms many transactions in hardly more time than one.
    private static let atOnce = 64

    private let store: any AccountStore
    /// In the audit records of all accounts of this import.
    private let trace = Random.bytes(16).hexadecimal
    private(set) var summary: UserImportSummary
    private var waiting: [(line: Int, user: ImportedUser)] = []
    /// The names in ``waiting``, and in a dry run of all lines before.
    private var names: Set<String> = []

    init(_ store: any AccountStore, isDryRun: Bool) {
        self.store = store
        summary = UserImportSummary(isDryRun: isDryRun)
    }

    private enum Outcome {
        case created
        case existing
    }

    /// Takes the next line; a blank one is passed over.
    ///
    /// - Throws: ``StoreError``.
    mutating func add(_ line: InputLines.Line, _ number: Int, _ report: (String) -> Void)
        async throws(StoreError)
    {
        guard case .text(var bytes) = line else {
            return refuse(number, "has more than \(InputLines.mostBytes) bytes", report)
        }
        // The mark that some programs put before UTF-8.
        if number == 1, bytes.starts(with: [0xEF, 0xBB, 0xBF]) { bytes.removeFirst(3) }
        guard !bytes.allSatisfy({ $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") }) else { return }
        let user: ImportedUser
        do throws(Problem) { user = try ImportedUser(line: bytes) } catch {
            return refuse(number, error.text, report)
        }
        // The first of two lines with a name counts.
        if names.contains(user.username) {
            guard !summary.isDryRun else {
                summary.existing += 1
                return
            }
            try await flush(report)
        }
        names.insert(user.username)
        waiting.append((number, user))
        if waiting.count == Self.atOnce { try await flush(report) }
    }

    /// Creates the accounts of the lines that wait.
    ///
    /// - Throws: ``StoreError``.
    mutating func flush(_ report: (String) -> Void) async throws(StoreError) {
        let (store, isDryRun, trace) = (store, summary.isDryRun, trace)
        let users = waiting.map(\.user)
        let outcomes = await withTaskGroup(of: Result<Outcome, StoreError>.self) { group in
            for user in users {
                group.addTask {
                    do throws(StoreError) {
                        return .success(try await Self.create(user, in: store, isDryRun, trace))
                    } catch {
                        return .failure(error)
                    }
                }
            }
            return await group.reduce(into: []) { $0.append($1) }
        }
        waiting = []
        if !isDryRun { names = [] }
        for outcome in outcomes {
            switch try outcome.get() {
            case .created: summary.created += 1
            case .existing: summary.existing += 1
            }
        }
    }

    private static func create(
        _ user: ImportedUser,
        in store: any AccountStore,
        _ isDryRun: Bool,
        _ trace: String
    ) async throws(StoreError) -> Outcome {
        for form in Set(TypedName(user.typedName).forms + [user.username]) {
            guard try await store.account(username: form) == nil else { return .existing }
        }
        guard !isDryRun else { return .created }
        let now = Timestamp.now
        let account = user.account(now: now)
        let details: JSONValue? = Script.mixed(in: user.username).map {
            ["mixedScripts": .array($0.map { .string($0) })]
        }
        let event = AuditEvent(
            .userCreated,
            account: account.id,
            trace: trace,
            reason: "import",
            details: String(decoding: details.flatMap { try? CanonicalJSON.encode($0) } ?? [], as: UTF8.self)
        )
        do throws(StoreError) {
            try await store.createAccount(account, audit: event, now: now)
        } catch {
            guard error.code == .conflict(.usernameTaken) else { throw error }
            return .existing
        }
        return .created
    }

    private mutating func refuse(_ number: Int, _ reason: String, _ report: (String) -> Void) {
        summary.refused += 1
        report("line \(number): \(LogEscapes.text(reason))")
    }
}

extension Problem {
    /// What is wrong, for people.
    fileprivate var text: String {
        guard !faults.isEmpty else { return detail ?? code.rawValue }
        return faults.map { "\($0.pointer.dropFirst()) \($0.detail)" }.joined(separator: "; ")
    }
}
