package import KeychainModel
import SecretMemory

/// Which programs got which secrets, kept for a time as sealed items of a group that only the command looks up.
///
/// Records are collected in memory and stored after a while, when there are many, before they are looked up and at the daemon's end:
/// a look-up must not write. What was not stored when the daemon was killed is lost; so is, at its end, what could not be stored because
/// the keychain is locked and hides names meanwhile.
package final class ReadLog: Sendable {
    /// How long a record may wait to be stored: a store counts in the chip, whose counter is not made for one every second.
    private static let patience = Duration.seconds(600)
    /// The most records that wait; after more than these, the oldest are lost, which the log says.
    private static let mostWaiting = 4096
    /// The most items of records; of more, the oldest are deleted.
    private static let mostItems = 512
    private static let service = "touchstone.reads"

    private struct State {
        var waiting: [SecretRead] = []
        var lost = 0
        var isTimed = false
    }

    private let vault: any ItemVault
    private let owners: any ItemOwners
    private let audit: any AuditLog
    private let keeps: Duration
    private let accessibility: Accessibility
    private let now: @Sendable () -> Int64
    private let state = Guarded(State())

    /// Creates the log of a keychain.
    ///
    /// - Parameters:
    ///   - vault: stores the records.
    ///   - owners: lists them.
    ///   - audit: hears of faults.
    ///   - keeps: how long a record is kept; zero for not at all.
    ///   - hidesNamesWhileLocked: whether they can be looked up, and stored, only while the keychain is unlocked: they have names.
    ///   - now: the time in microseconds since 1970.
    package init(
        vault: any ItemVault,
        owners: any ItemOwners,
        audit: any AuditLog,
        keeps: Duration,
        hidesNamesWhileLocked: Bool = false,
        now: @escaping @Sendable () -> Int64
    ) {
        self.vault = vault
        self.owners = owners
        self.audit = audit
        self.keeps = keeps
        accessibility = hidesNamesWhileLocked ? .whenUnlockedThisDeviceOnly : .afterFirstUnlockThisDeviceOnly
        self.now = now
    }

    /// Records a use; `describe` makes the record from the time.
    func note(_ describe: (_ time: Int64) -> SecretRead) {
        guard keeps > .zero else { return }
        let read = describe(now())
        let (isFull, mustTime) = state.withLock { state in
            if let last = state.waiting.last, last.isRepeated(by: read) {
                state.waiting[state.waiting.count - 1].time = read.time
                state.waiting[state.waiting.count - 1].times += 1
            } else {
                state.waiting.append(read)
            }
            if state.waiting.count > Self.mostWaiting {
                state.waiting.removeFirst()
                state.lost += 1
            }
            defer { state.isTimed = true }
            return (state.waiting.count == SecretReads.most, !state.isTimed)
        }
        if isFull { Task { await store() } } else if mustTime { storeLater() }
    }

    private func storeLater() {
        Task { [weak self] in
            try? await Task.sleep(for: Self.patience)
            if let self, state.withLock({ !$0.waiting.isEmpty }) { await store() }
        }
    }

    /// Stores what waits, and deletes what is older than it is kept; a fault is told to the log, and the records go on waiting.
    package func store() async {
        // Damaged files stay as they are until the user has them repaired.
        guard vault.storeFaults().isEmpty else { return state.withLock { $0.isTimed = false } }
        let (waiting, lost) = state.withLock { state in
            defer { state = State() }
            return (state.waiting, state.lost)
        }
        if lost > 0 {
            audit.record(AuditEvent(.backgroundFailed, detail: "\(lost) records of reads are lost"))
        }
        var stored = 0
        do throws(KeychainError) {
            while stored < waiting.count {
                let some = Array(waiting[stored...].prefix(SecretReads.most))
                try await add(some)
                stored += some.count
            }
            try await deleteOld()
        } catch {
            let mustTime = state.withLock { state in
                state.waiting.insert(contentsOf: waiting[stored...], at: 0)
                defer { state.isTimed = true }
                return !state.isTimed
            }
            if mustTime { storeLater() }
            guard error.cause != .locked, error.cause != .notSetUp else { return }
            audit.record(AuditEvent(.backgroundFailed, detail: "records of reads \(error.auditDetail)"))
        }
    }

    // MARK: Items

    private func add(_ reads: [SecretRead]) async throws(KeychainError) {
        guard let last = reads.last else { return }
        let octets = SecretReads(reads).octets
        let item = NewItem(
            itemClass: .genericPassword,
            attributes: [.service: .string(Self.service), .account: .string(Self.name(at: last.time))],
            accessControl: AccessControl(accessibility: accessibility),
            data: SecretBytes(copying: octets.span)
        )
        try await vault.addRecord(item, group: .reads)
    }

    private func deleteOld() async throws(KeychainError) {
        let oldest = Self.name(at: now() - Int64(keeps / .microseconds(1)), "")
        let names = try await owners.items(of: .reads).compactMap { item -> String? in
            guard case .string(let name)? = item.primaryKey[.account] else { return nil }
            return name
        }.sorted()
        let excess = max(0, names.count - Self.mostItems)
        for name in names.prefix(excess) + names.dropFirst(excess).filter({ $0 < oldest }) {
            let query = ItemQuery(
                itemClass: .genericPassword,
                attributes: [.service: .string(Self.service), .account: .string(name)],
                limit: .all
            )
            try await vault.deleteRecords(query, group: .reads)
        }
    }

    /// A name that sorts by time, of a fixed length, and is not used twice.
    private static func name(
        at time: Int64,
        _ suffix: String = String(UInt32.random(in: 0 ... .max), radix: 16)
    ) -> String {
        let digits = String(max(0, time))
        return String(repeating: "0", count: max(0, 19 - digits.count)) + digits + "-" + suffix
    }
}

extension Visit {
    /// Records that the caller read secrets, if it did.
    func noteRead(_ query: ItemQuery, in groups: [AccessGroup], count: Int, _ context: ContextID) {
        guard let reads = services.reads, query.returns.contains(.data), count > 0, groups != [.reads] else {
            return
        }
        reads.note { time in
            SecretRead(
                time: time,
                method: .read,
                caller: asker.callerWithStarters,
                group: groups.first?.name ?? "",
                name: Self.name(of: query),
                count: count,
                references: query.references,
                factors: factors(in: context)
            )
        }
    }

    /// Records that the caller used a private key.
    func noteUse(_ use: KeyUse, for purpose: String, in group: AccessGroup?, _ context: ContextID) {
        guard let reads = services.reads else { return }
        let method: SecretRead.Method =
            switch use {
            case .sign, .signCounted: .sign
            case .agree: .agree
            case .decrypt: .decrypt
            }
        reads.note { time in
            SecretRead(
                time: time,
                method: method,
                caller: asker.callerWithStarters,
                group: group?.name ?? "",
                name: purpose,
                count: 1,
                references: [],
                factors: factors(in: context)
            )
        }
    }

    private func factors(in context: ContextID) -> Set<AuthenticationFactor> {
        let proofs = (try? contexts.authorization(of: context).proofs) ?? []
        return proofs.reduce(into: []) { $0.formUnion($1.factors) }
    }

    /// The attributes by which people know what a query finds.
    private static func name(of query: ItemQuery) -> String {
        let texts = [AttributeKey.server, .service, .account, .label].compactMap { key -> String? in
            guard case .string(let text)? = query.attributes[key], !text.isEmpty else { return nil }
            return text
        }
        return texts.joined(separator: ", ")
    }
}
