import AccountStore
import Foundation
import PostgreSQLStore
import RelyingParty
import SQLiteStore
import Synchronization

/// Measures complete logins (opening a ceremony, consuming it, completing the login), refreshes of bound tokens, and
/// rotations of unbound ones, without HTTP and signatures.
///
/// `store-bench sqlite PATH full|normal CLIENTS SECONDS ACCOUNTS`, or `store-bench postgresql CONNINFO CONNECTIONS …`.
@main
struct StoreBench {
    static func main() async throws {
        let arguments = Array(CommandLine.arguments.dropFirst())
        guard arguments.count == 6, let clients = Int(arguments[3]), let seconds = Int(arguments[4]),
            let accounts = Int(arguments[5])
        else {
            print("store-bench sqlite PATH full|normal CLIENTS SECONDS ACCOUNTS")
            print("store-bench postgresql CONNINFO CONNECTIONS CLIENTS SECONDS ACCOUNTS")
            exit(2)
        }
        let store: any AccountStore
        if arguments[0] == "postgresql" {
            let configuration = PostgreSQLStore.Configuration(
                conninfo: arguments[1],
                connectionCount: Int(arguments[2]) ?? 8
            )
            try PostgreSQLStore.migrate(configuration)
            store = try PostgreSQLStore.open(configuration)
        } else {
            let configuration = SQLiteStore.Configuration(
                path: arguments[1],
                synchronous: arguments[2] == "normal" ? .normal : .full
            )
            try SQLiteStore.migrate(configuration)
            store = try SQLiteStore.open(configuration)
        }
        let people = try await People(store, count: accounts)
        for kind in Work.Kind.allCases {
            let work = Work(store: store, people: people, kind: kind)
            print(try await work.run(clients: clients, seconds: seconds))
        }
        await store.close()
    }
}

/// Accounts with two credentials each.
struct People {
    let credentials: [(account: AccountID, credential: CredentialID)]

    init(_ store: any AccountStore, count: Int) async throws {
        let now = Timestamp(seconds: 1_800_000_000)
        credentials = try await withThrowingTaskGroup(of: [(AccountID, CredentialID)].self) { group in
            let lanes = 64
            for lane in 0..<lanes {
                group.addTask {
                    var made: [(AccountID, CredentialID)] = []
                    for _ in stride(from: lane, to: count, by: lanes) {
                        let id = AccountID.random(byteCount: 32)
                        try await store.createAccount(
                            Account(
                                id: id,
                                username: "user-\(UUID().uuidString)@example.org",
                                displayName: "Somebody",
                                createdAt: now,
                                password: PasswordRecord(
                                    hash: String(repeating: "x", count: 98),
                                    changedAt: now
                                )
                            ),
                            audit: AuditEvent(.userCreated, address: "192.0.2.1"),
                            now: now
                        )
                        for kind in Credential.Kind.allCases {
                            let credential = Self.credential(id, kind, now)
                            _ = try await store.registerCredential(
                                credential,
                                keeping: nil,
                                audit: AuditEvent(.credentialRegistered, address: "192.0.2.1"),
                                now: now
                            )
                            if kind == .device { made.append((id, credential.id)) }
                        }
                    }
                    return made
                }
            }
            return try await group.reduce(into: []) { $0 += $1 }
        }
    }

    private static func credential(
        _ account: AccountID,
        _ kind: Credential.Kind,
        _ now: Timestamp
    ) -> Credential {
        Credential(
            id: .random(byteCount: 32),
            account: account,
            kind: kind,
            label: "Firefox on Linux",
            publicKey: [UInt8](repeating: 1, count: 77),
            signCount: 0,
            uvInitialized: true,
            backupEligible: false,
            backupState: false,
            isHardwareBound: kind == .device,
            transports: ["internal"],
            aaguid: [UInt8](repeating: 1, count: 16),
            assurance: .tpm,
            uvEvidence: .flag,
            createdAt: now
        )
    }
}

/// The store refused a refresh, so that the measured rate would mean nothing.
struct NotRenewed: Error {
    let outcome: RefreshOutcome
}

/// One kind of work, done by many clients concurrently.
struct Work {
    enum Kind: String, CaseIterable { case login, refresh, rotation }

    let store: any AccountStore
    let people: People
    let kind: Kind

    func run(clients: Int, seconds: Int) async throws -> String {
        let before = store.statistics
        let start = ContinuousClock.now
        let end = start + .seconds(seconds)
        var times = try await withThrowingTaskGroup(of: [Duration].self) { group in
            for client in 0..<clients {
                group.addTask {
                    var times: [Duration] = []
                    var index = client
                    var tokens = try await logIn(index)
                    while ContinuousClock.now < end {
                        index += clients
                        let begin = ContinuousClock.now
                        switch kind {
                        case .login: _ = try await logIn(index)
                        case .refresh, .rotation: tokens = try await refresh(tokens)
                        }
                        times.append(ContinuousClock.now - begin)
                    }
                    return times
                }
            }
            return try await group.reduce(into: []) { $0 += $1 }
        }
        times.sort()
        let after = store.statistics
        let rate = Double(times.count) / Double(seconds)
        let commits = Double(after.commits - before.commits) / Double(times.count)
        func milliseconds(_ part: Double) -> String {
            let time = times[min(Int(Double(times.count) * part), times.count - 1)]
            return String(
                format: "%.2f ms",
                Double(time.components.attoseconds) / 1e15 + Double(time.components.seconds) * 1e3
            )
        }
        return
            "\(kind.rawValue): \(Int(rate)) a second, p50 \(milliseconds(0.5)), p99 \(milliseconds(0.99)), "
            + String(format: "%.3f commits each, ", commits) + "\(after.retries - before.retries) retries"
    }

    private func logIn(_ index: Int) async throws -> TokenPair {
        let (account, credential) = people.credentials[index % people.credentials.count]
        let now = Timestamp(milliseconds: Int64(Date().timeIntervalSince1970 * 1000))
        let ceremony = Ceremony(
            id: .random(),
            purpose: .login,
            account: account,
            options: String(repeating: "o", count: 400),
            openedAt: now,
            expiresAt: now + .seconds(300)
        )
        _ = try await store.openCeremony(ceremony, limits: [], now: now)
        let tokens = TokenPair(
            access: Self.token(.access, now),
            accessExpiresAt: now + .seconds(300),
            refresh: Self.token(.refresh, now)
        )
        let completion = LoginCompletion(
            method: .credential(
                CredentialUse(
                    id: credential,
                    signCount: 0,
                    userVerified: true,
                    backupEligible: false,
                    backupState: false,
                    openedAt: now
                )
            ),
            session: Session(
                id: .random(),
                account: account,
                credential: credential,
                acr: "phrh",
                amr: ["hwk", "user", "pop"],
                authTime: now,
                createdAt: now,
                lastUsedAt: now,
                expiresAt: now + .seconds(86_400),
                idleLifetime: .seconds(3600),
                thumbprint: thumbprint,
                client: "Firefox on Linux",
                address: "192.0.2.1"
            ),
            tokens: tokens,
            audit: AuditEvent(.loginSuccess, address: "192.0.2.1", trace: "0123456789abcdef"),
            now: now
        )
        _ = try await store.completeLogin(by: ceremony.id, presenting: credential, now: now) {
            _ throws(Never) in completion
        }
        return tokens
    }

    private static func token(_ kind: OpaqueToken.Kind, _ now: Timestamp) -> TokenDigest {
        TokenDigest(OpaqueToken(kind, at: now.milliseconds).digest)
    }

    /// The key that tokens are bound to.
    private var thumbprint: [UInt8]? { kind == .rotation ? nil : [UInt8](repeating: 1, count: 32) }

    /// Renews tokens.
    private func refresh(_ old: TokenPair) async throws -> TokenPair {
        let now = Timestamp(milliseconds: Int64(Date().timeIntervalSince1970 * 1000))
        let new = TokenPair(
            access: Self.token(.access, now),
            accessExpiresAt: now + .seconds(300),
            refresh: Self.token(.refresh, now)
        )
        let proof = ProofIdentifier(
            digest: Identifier<Never>.random(byteCount: 32).bytes,
            expiresAt: now + .seconds(120)
        )
        let outcome = try await store.refresh(
            RefreshRequest(
                token: old.refresh,
                thumbprint: thumbprint,
                proof: thumbprint == nil ? nil : proof,
                tokens: new,
                audit: AuditEvent(.sessionRenewed, address: "192.0.2.1", trace: "0123456789abcdef"),
                now: now
            )
        )
        guard case .renewed = outcome else { throw NotRenewed(outcome: outcome) }
        return new
    }
}
