package import KeychainModel

/// Makes changes of credentials wait while the keychain is protected against theft, and keeps the settings of that.
///
/// The settings, the trusted places and the waits are items of the daemon's own command, without a secret, so that they are
/// authentic and cannot be put back to an older state unnoticed. A wait counts by the clock that runs since boot, which nobody
/// can set; after a restart of the machine a change has to be asked for anew, and the wait of changed fingers begins anew.
package actor TheftGuard: CredentialGuard {
    /// What is known of the enrolled fingers.
    private enum Fingers {
        case unknown
        case counting
        case waiting(since: BootTime)
    }

    /// A stored setting, place or wait: the account of an item.
    enum Record: Hashable {
        case mode(TheftProtection)
        case place(NetworkPlace)
        case wait(CredentialChange, since: BootTime)

        /// The text, of words without spaces.
        var text: String {
            switch self {
            case .mode(let mode): "mode \(mode.rawValue)"
            case .place(let place):
                "place \(place.profile) \(place.name.map(String.init).joined(separator: "."))"
            case .wait(let change, let time): "wait \(change.rawValue) \(time.nanoseconds) \(time.bootID)"
            }
        }

        init?(_ text: String) {
            let words = text.split(separator: " ", maxSplits: 3).map(String.init)
            switch (words.first, words.count) {
            case ("mode", 2):
                guard let mode = UInt8(words[1]).flatMap(TheftProtection.init) else { return nil }
                self = .mode(mode)
            case ("place", 3):
                let name = words[2].split(separator: ".").map { UInt8($0) }
                guard !name.contains(nil),
                    let place = NetworkPlace(profile: words[1], name: name.compactMap(\.self))
                else { return nil }
                self = .place(place)
            case ("wait", 4):
                guard let change = UInt8(words[1]).flatMap(CredentialChange.init), let time = Int64(words[2])
                else { return nil }
                self = .wait(change, since: BootTime(bootID: words[3], nanoseconds: time))
            default: return nil
            }
        }
    }

    private static let items = SettingItems.theftProtection

    private let vault: any ItemVault
    private let owners: any ItemOwners
    private let places: any PlaceReader
    private let clock: any BootClock
    private let audit: any AuditLog
    private var fingers = Fingers.unknown

    /// Creates the guard of a keychain.
    package init(
        vault: any ItemVault,
        owners: any ItemOwners,
        places: any PlaceReader,
        clock: any BootClock,
        audit: any AuditLog
    ) {
        self.vault = vault
        self.owners = owners
        self.places = places
        self.clock = clock
        self.audit = audit
    }

    // MARK: Waits

    package func wait(before change: CredentialChange) async throws(KeychainError) -> Duration? {
        let records = try await records()
        guard await isEffective(records) else {
            try await forget(change, records)
            return nil
        }
        if let left = left(of: change, records) { return left > .zero ? left : nil }
        try await begin(change, clock.now(), records)
        audit.record(AuditEvent(.changeDelayed, detail: "\(change)"))
        return CredentialChange.delay
    }

    package func made(_ change: CredentialChange) async {
        do throws(KeychainError) {
            try await forget(change, try await records())
        } catch {
            audit.record(AuditEvent(.backgroundFailed, detail: "end of a wait \(error.auditDetail)"))
        }
    }

    package func fingersChanged() async {
        do throws(KeychainError) {
            let records = try await records()
            guard await isEffective(records) else { return fingers = .counting }
            let now = clock.now()
            fingers = .waiting(since: now)
            try await begin(.fingers, now, records)
            audit.record(AuditEvent(.changeDelayed, detail: "\(CredentialChange.fingers)"))
        } catch {
            // Nothing tells that they need not wait.
            fingers = .waiting(since: clock.now())
            audit.record(AuditEvent(.backgroundFailed, detail: "wait of fingers \(error.auditDetail)"))
        }
    }

    package func fingersWait() async -> Duration? {
        do throws(KeychainError) {
            if case .unknown = fingers { fingers = try await storedFingers() }
            guard case .waiting(let since) = fingers else { return nil }
            let records = try await records()
            let left = CredentialChange.delay - (clock.now().since(since) ?? .zero)
            if left > .zero, await isEffective(records) { return left }
            try await forget(.fingers, records)
            fingers = .counting
            return nil
        } catch {
            // Before the first unlock no finger counts anyway; otherwise nothing tells that they do.
            return error.cause == .locked || error.cause == .notSetUp ? nil : CredentialChange.delay
        }
    }

    package func forget() { fingers = .unknown }

    /// What the store knows of the fingers; their wait begins anew after a restart of the machine.
    private func storedFingers() async throws(KeychainError) -> Fingers {
        let records = try await records()
        guard let since = since(.fingers, records) else { return .counting }
        let now = clock.now()
        guard now.since(since) == nil else { return .waiting(since: since) }
        try await begin(.fingers, now, records)
        return .waiting(since: now)
    }

    /// What is left of a change's wait, negative once it is over; nil if it did not begin, or ended too long ago.
    private func left(of change: CredentialChange, _ records: [Record]) -> Duration? {
        guard let since = since(change, records), let passed = clock.now().since(since),
            passed < CredentialChange.delay + CredentialChange.window
        else { return nil }
        return CredentialChange.delay - passed
    }

    /// When a change's wait began: the latest time, if a crash left a former one; one of another boot counts as the latest.
    private func since(_ change: CredentialChange, _ records: [Record]) -> BootTime? {
        let now = clock.now()
        var times: [BootTime] = []
        for case .wait(change, let since) in records { times.append(since) }
        return times.min { (now.since($0) ?? .zero) < (now.since($1) ?? .zero) }
    }

    /// Begins a change's wait; the former one goes last, so that a crash leaves one of them.
    private func begin(
        _ change: CredentialChange,
        _ now: BootTime,
        _ records: [Record]
    ) async throws(KeychainError) {
        let new = Record.wait(change, since: now)
        if !records.contains(new) { try await add(new) }
        try await forget(change, records.filter { $0 != new })
    }

    private func forget(_ change: CredentialChange, _ records: [Record]) async throws(KeychainError) {
        for record in records {
            if case .wait(change, _) = record { try await remove(record) }
        }
    }

    // MARK: Settings

    /// The protection as it is now.
    func protection() async throws(KeychainError) -> ProtectionReply {
        let records = try await records()
        let waiting = CredentialChange.allCases.compactMap { change in
            left(of: change, records).map { WaitingChange(change, secondsLeft: max(0, $0.wholeSeconds)) }
        }
        return ProtectionReply(
            mode: Self.mode(records),
            places: Self.places(records),
            here: await here(),
            waiting: waiting.filter { $0.change != .fingers || $0.secondsLeft > 0 }
        )
    }

    func set(_ mode: TheftProtection) async throws(KeychainError) {
        let former = try await records().filter { if case .mode = $0 { true } else { false } }
        if mode != .off, !former.contains(.mode(mode)) { try await add(.mode(mode)) }
        for record in former where record != .mode(mode) { try await remove(record) }
    }

    func trust(_ place: NetworkPlace) async throws(KeychainError) {
        let places = Self.places(try await records())
        guard !places.contains(place) else { return }
        guard places.count < ProtectionReply.mostPlaces else {
            let detail = "\(places.count) places are trusted already"
            throw KeychainError(.param, cause: DriverCause(.placeRefused, detail: detail))
        }
        try await add(.place(place))
    }

    /// Trusts the networks of a name no more.
    ///
    /// - Throws: `errSecItemNotFound` if there is none.
    func distrust(_ name: [UInt8]) async throws(KeychainError) {
        let places = Self.places(try await records()).filter { $0.name == name }
        guard !places.isEmpty else { throw KeychainError(.itemNotFound) }
        for place in places { try await remove(.place(place)) }
    }

    func here() async -> Result<NetworkPlace, PlaceError> {
        do throws(PlaceError) {
            return .success(try await places.place())
        } catch {
            return .failure(error)
        }
    }

    private func isEffective(_ records: [Record]) async -> Bool {
        switch Self.mode(records) {
        case .off: return false
        case .always: return true
        case .away:
            guard case .success(let place) = await here() else { return true }
            return !records.contains(.place(place))
        }
    }

    /// The strictest of the stored modes: a change of the mode adds the new one before it removes the former.
    private static func mode(_ records: [Record]) -> TheftProtection {
        var mode = TheftProtection.off
        for case .mode(let stored) in records where stored.rawValue > mode.rawValue { mode = stored }
        return mode
    }

    private static func places(_ records: [Record]) -> [NetworkPlace] {
        records.compactMap { if case .place(let place) = $0 { place } else { nil } }
    }

    // MARK: Items

    private func group() throws(KeychainError) -> AccessGroup {
        guard let group = AccessGroup(ClientIdentity.ownGroup) else {
            throw KeychainError(.internalComponent)
        }
        return group
    }

    /// The stored records; of a keychain that was never protected at the cost of one look-up.
    private func records() async throws(KeychainError) -> [Record] {
        let group = try group()
        guard try owners.has(Self.items.query(nil), in: group) else { return [] }
        return try await owners.items(of: group).compactMap { item in
            Self.items.account(of: item).flatMap { Record($0) }
        }
    }

    private func add(_ record: Record) async throws(KeychainError) {
        let item = Self.items.item(record.text, .afterFirstUnlockThisDeviceOnly)
        try await vault.addRecord(item, group: try group())
    }

    private func remove(_ record: Record) async throws(KeychainError) {
        try await vault.deleteRecords(Self.items.query(record.text), group: try group())
    }
}
