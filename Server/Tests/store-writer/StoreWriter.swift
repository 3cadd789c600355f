import AccountStore
import Foundation
import PostgreSQLStore
import SQLiteStore

/// `store-writer sqlite PATH` or `store-writer postgresql CONNINFO`: signs several accounts in and out until it is killed.
///
/// It prints a line for each operation that the store acknowledged, before it starts the next one.
@main
struct StoreWriter {
    static func main() async throws {
        let arguments = CommandLine.arguments
        guard arguments.count == 3 else { exit(2) }
        let store: any AccountStore =
            switch arguments[1] {
            case "postgresql": try PostgreSQLStore.open(.init(conninfo: arguments[2], timeout: .seconds(60)))
            default: try SQLiteStore.open(.init(path: arguments[2], timeout: .seconds(60)))
            }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<8 { group.addTask { try await Writer(store: store).run() } }
            try await group.waitForAll()
        }
    }
}

/// An account that signs in again and again.
struct Writer {
    let store: any AccountStore
    let account = Account(
        id: .random(byteCount: 32),
        username: Identifier<Never>.random().hex,
        displayName: "",
        createdAt: Timestamp(seconds: 0)
    )
    let credential: Credential
    let now = Timestamp(seconds: 1_800_000_000)

    init(store: any AccountStore) {
        self.store = store
        credential = Credential(
            id: .random(byteCount: 32),
            account: account.id,
            kind: .passkey,
            label: "",
            publicKey: [1],
            signCount: 0,
            uvInitialized: true,
            backupEligible: false,
            backupState: false,
            isHardwareBound: false,
            transports: [],
            aaguid: [],
            assurance: .none,
            uvEvidence: .flag,
            createdAt: now
        )
    }

    func run() async throws {
        try await store.createAccount(account, audit: AuditEvent(.userCreated), now: now)
        _ = try await store.registerCredential(
            credential,
            keeping: nil,
            audit: AuditEvent(.credentialRegistered),
            now: now
        )
        // Counts acknowledged audit records.
        var records = 2
        say("registered", account.id.bytes, credential.id.bytes, records)
        for count in 1... {
            let ceremony = Ceremony(
                id: .random(),
                purpose: .login,
                options: "{}",
                openedAt: now,
                expiresAt: now + .seconds(300)
            )
            _ = try await store.openCeremony(ceremony, limits: [], now: now)
            say("opened", account.id.bytes, ceremony.id.bytes, records)
            // Every third answer is rejected, and consumes its ceremony all the same.
            let isRefused = count % 3 == 0
            let tokens = TokenPair(
                access: TokenDigest(Identifier<Never>.random(byteCount: 38).bytes),
                accessExpiresAt: now + .seconds(300),
                refresh: TokenDigest(Identifier<Never>.random(byteCount: 38).bytes)
            )
            let completion = login(UInt32(count), tokens)
            let login = try await store.completeLogin(
                by: ceremony.id,
                presenting: credential.id,
                now: now
            ) { _ throws(Refused) in
                if isRefused { throw Refused() }
                return completion
            }
            let session: Session
            switch login {
            case .refused where isRefused:
                say("consumed", account.id.bytes, ceremony.id.bytes, records)
                continue
            case .verified(.completed(let opened, _)) where !isRefused: session = opened
            default:
                say("lost", account.id.bytes, ceremony.id.bytes, records)
                return
            }
            records += 1
            say("signedIn", account.id.bytes, tokens.access.bytes, records)
            say("consumed", account.id.bytes, ceremony.id.bytes, records)
            if count % 2 == 0 {
                try await store.endSession(
                    session.id,
                    of: account.id,
                    audit: AuditEvent(.sessionLogout),
                    now: now
                )
                records += 1
                say("signedOut", account.id.bytes, tokens.access.bytes, records)
            }
            if count % 8 == 0 {
                _ = try await store.endSessions(
                    of: account.id,
                    except: nil,
                    audit: AuditEvent(.sessionLogout),
                    now: now
                )
                records += 1
                say("signedOutAll", account.id.bytes, [], records)
            }
        }
    }

    private struct Refused: Error {}

    private func login(_ count: UInt32, _ tokens: TokenPair) -> LoginCompletion {
        LoginCompletion(
            method: .credential(
                CredentialUse(
                    id: credential.id,
                    signCount: count,
                    userVerified: true,
                    backupEligible: false,
                    backupState: false,
                    openedAt: now
                )
            ),
            session: Session(
                id: .random(),
                account: account.id,
                acr: "phr",
                amr: ["hwk"],
                authTime: now,
                createdAt: now,
                lastUsedAt: now,
                expiresAt: now + .seconds(3600),
                idleLifetime: .seconds(3600)
            ),
            tokens: tokens,
            audit: AuditEvent(.loginSuccess),
            now: now
        )
    }

    /// Prints an acknowledged operation in a single write, so that a line is complete or missing.
    private func say(_ what: String, _ account: [UInt8], _ subject: [UInt8], _ records: Int) {
        let line =
            "\(what) \(Identifier<Never>(account).hex) \(Identifier<Never>(subject).hex) \(records)\n"
        line.utf8.withContiguousStorageIfAvailable { _ = write(1, $0.baseAddress, $0.count) }
    }
}

extension Identifier {
    var hex: String { bytes.map { String(format: "%02x", $0) }.joined() }
}
