import CBOR
import Glibc
@_spi(AuthenticationEngine) import KeychainModel
import SecretMemory

/// An authenticator whose user is a closure.
final class ScriptedAuthenticator: Authenticator {
    typealias Person = @Sendable (Evaluation) async throws(AuthenticationError) -> Set<AuthenticationFactor>

    private let asked = Guarded<[Evaluation]>([])
    private let unlocks = Guarded<[PromptRequest]>([])
    private let observations = Guarded<(count: Int, result: Result<Void, KeychainError>)>((0, .success(())))
    private let person: Person
    private let onUnlock: @Sendable () throws(AuthenticationError) -> Void

    init(
        person: @escaping Person = { _ throws(AuthenticationError) in [.biometry] },
        onUnlock: @escaping @Sendable () throws(AuthenticationError) -> Void = {}
    ) {
        self.person = person
        self.onUnlock = onUnlock
    }

    /// The evaluations so far.
    var evaluations: [Evaluation] { asked.withLock { $0 } }
    /// The number of times the enrolled set was observed in order to bind something to it.
    var observationCount: Int { observations.withLock { $0.count } }
    /// Sets the result of observing the enrolled set.
    func observes(_ result: Result<Void, KeychainError>) { observations.withLock { $0.result = result } }
    /// The requests to unlock.
    var unlockRequests: [PromptRequest] { unlocks.withLock { $0 } }
    /// The number of unlock requests.
    var unlockCount: Int { unlockRequests.count }

    func availability(of policy: AuthenticationPolicy) async -> AuthenticationAvailability {
        AuthenticationAvailability(error: nil, hasSensor: true, domainState: [UInt8](repeating: 7, count: 32))
    }

    func evaluate(_ evaluation: Evaluation) async throws(AuthenticationError) -> AuthenticationProof {
        var kept = evaluation
        kept.request = Self.withoutListener(evaluation.request)
        asked.withLock { [kept] in $0.append(kept) }
        let factors = try await person(evaluation)
        var operation: AccessOperation?
        let satisfied: Set<AccessConstraint>
        switch evaluation.target {
        case .policy: satisfied = AuthenticationPolicy.satisfied(by: factors)
        case .accessControl(let control, let asked):
            operation = asked
            satisfied = control.satisfied(by: factors)
        }
        return Self.proof(factors, satisfied, operation, evaluation.context)
    }

    func unlock(_ request: PromptRequest) async throws(AuthenticationError) -> AuthenticationProof? {
        let kept = Self.withoutListener(request)
        unlocks.withLock { $0.append(kept) }
        try onUnlock()
        let context = ContextID(connection: 0, number: 0)
        return Self.proof([.passcode], AuthenticationPolicy.satisfied(by: [.passcode]), nil, context)
    }

    func observeCurrentSet() async throws(KeychainError) {
        let result = observations.withLock { observations in
            observations.count += 1
            return observations.result
        }
        try result.get()
    }

    func confirm(
        _ request: PromptRequest,
        heading: String
    ) async throws(AuthenticationError) -> AuthenticationProof {
        let context = ContextID(connection: 0, number: 0)
        return Self.proof([.passcode], AuthenticationPolicy.satisfied(by: [.passcode]), nil, context)
    }

    func applicationPassword(
        _ purpose: ApplicationPasswordPurpose,
        _ request: PromptRequest
    ) async throws(AuthenticationError) -> SecretBytes {
        throw AuthenticationError(.userCancel)
    }

    func setUp(_ request: PromptRequest) async throws(AuthenticationError) {}
    func changePasscode(_ request: PromptRequest) async throws(AuthenticationError) {}
    func recover(_ request: PromptRequest) async throws(AuthenticationError) {}
    func changeRecoveryCode(_ request: PromptRequest) async throws(AuthenticationError) {}
    func checkRecoveryCode(_ request: PromptRequest) async throws(AuthenticationError) {}
    func migrate(_ request: PromptRequest) async throws(AuthenticationError) {}
    func protectLockout(_ request: PromptRequest) async throws(AuthenticationError) {}
    func startOver(_ request: PromptRequest) async throws(AuthenticationError) {}
    func lock() async {}
    func lastAuthentications(for program: AccessGroup?) async -> [PastAuthentication] { [] }
    func status() async -> AuthenticationStatus { AuthenticationStatus(sensor: "scripted") }

    /// The request with a listener of its own in place of the caller's, which holds the connection, and so this authenticator.
    private static func withoutListener(_ request: PromptRequest) -> PromptRequest {
        var request = request
        if request.onMiss != nil { request.onMiss = { _ in } }
        return request
    }

    private static func proof(
        _ factors: Set<AuthenticationFactor>,
        _ satisfied: Set<AccessConstraint>,
        _ operation: AccessOperation?,
        _ context: ContextID
    ) -> AuthenticationProof {
        AuthenticationProof(
            factors: factors,
            satisfied: satisfied,
            operation: operation,
            time: BootTime(bootID: "test", nanoseconds: 0),
            context: context,
            passcodeKey: nil,
            isOfWeakSensor: false
        )
    }
}

/// A keybag that is always unlocked.
struct ScriptedKeybag: KeybagKeeper {
    func state() async -> KeybagState { .unlocked }
    func assurance() async -> AssuranceReport { AssuranceReport(.test, reasons: ["scripted"]) }
    func holdsEscrow() async -> Bool { false }
    func open(with proof: AuthenticationProof) async throws(KeychainError) {
        throw KeychainError(.authFailed)
    }
    func forgetEscrow() async {}
    func migrateAtNextOpening() async throws(KeychainError) {}
    func abandonMigration() async {}
    func canProtectLockout() async throws(KeychainError) -> Bool { false }
    func protectLockout(with code: borrowing SecretBytes) async throws(KeychainError) {}
    func startOver() async throws(KeychainError) -> String? { nil }
    func makeRecoveryCode() throws(KeychainError) -> SecretBytes { SecretBytes(copying: []) }
    func setUp(
        passcode: consuming SecretBytes,
        recoveryCode: borrowing SecretBytes,
        enrolled: Enrolment?
    ) async throws(KeychainError) {}
    func open(passcode: borrowing SecretBytes) async throws(KeychainError) -> PasscodeOpening { .wrong }
    func lock() async {}
    func changePasscode(to passcode: consuming SecretBytes, proof: AuthenticationProof)
        async throws(KeychainError)
    {}
    func changeRecoveryCode(to code: borrowing SecretBytes, proof: AuthenticationProof)
        async throws(KeychainError)
    {}
    func recover(code: borrowing SecretBytes, newPasscode: consuming SecretBytes) async throws(KeychainError)
    {}
    func accepts(recoveryCode: borrowing SecretBytes) async throws(KeychainError) -> Bool { false }
    func observe(_ enrolment: Enrolment) async throws(KeychainError) -> EnrolmentObservation {
        throw KeychainError(.notAvailable)
    }
    func repair(
        proof: AuthenticationProof,
        accepting: Bool
    ) async throws(KeychainError) -> StoreRepair { StoreRepair() }
}

/// A call of the vault, as far as tests examine it.
enum VaultCall: Sendable {
    case add(ItemAttributes, group: AccessGroup, data: [UInt8]?)
    case copy(ItemQuery, groups: [AccessGroup], ItemAuthorization, ItemCursor?)
    case update(ItemQuery, groups: [AccessGroup], ItemAttributes, data: [UInt8]?)
    case delete(ItemQuery, groups: [AccessGroup])
    case replace(ItemQuery, groups: [AccessGroup], ItemAttributes, group: AccessGroup, data: [UInt8]?)
    case erase(ItemQuery, groups: [AccessGroup], secret: [UInt8])
}

/// An answer of the scripted vault; a page has the data of its items.
enum VaultAnswer: Sendable {
    case page([[UInt8]], next: ItemCursor?)
    case count(Int)
    /// A count that the hardware has yet to follow.
    case unsettled(Int)
    case needs([AccessControl])
    case needsKey
}

/// A vault whose answers come from a closure, called with all calls so far, the current one last.
final class ScriptedVault: ItemVault {
    typealias Script = @Sendable ([VaultCall]) throws(KeychainError) -> VaultAnswer

    private struct State {
        var calls: [VaultCall] = []
        var settled = 0
        var derived = 0
    }
    private let script: Script
    private let state = Guarded(State())

    var calls: [VaultCall] { state.withLock { $0.calls } }
    /// How often the hardware was waited for.
    var settled: Int { state.withLock { $0.settled } }
    /// How many keys of application passwords were derived.
    var derived: Int { state.withLock { $0.derived } }

    init(_ script: @escaping Script = { _ throws(KeychainError) in .page([[1, 2, 3]], next: nil) }) {
        self.script = script
    }

    func add(
        _ item: borrowing NewItem,
        group: AccessGroup,
        authorization: ItemAuthorization
    ) throws(KeychainError) -> VaultOutcome<EncodedItems> {
        try items(.add(item.attributes, group: group, data: Self.octets(item.data)))
    }

    func copy(
        _ query: ItemQuery,
        groups: [AccessGroup],
        authorization: ItemAuthorization,
        after cursor: ItemCursor?
    ) throws(KeychainError) -> VaultOutcome<EncodedItems> {
        try items(.copy(query, groups: groups, authorization, cursor))
    }

    func update(
        _ query: ItemQuery,
        groups: [AccessGroup],
        changes: consuming ItemChanges,
        authorization: ItemAuthorization
    ) throws(KeychainError) -> VaultOutcome<Int> {
        try count(.update(query, groups: groups, changes.attributes, data: Self.octets(changes.data)))
    }

    func delete(_ query: ItemQuery, groups: [AccessGroup]) throws(KeychainError) -> VaultOutcome<Int> {
        try count(.delete(query, groups: groups))
    }

    func replace(
        _ query: ItemQuery,
        groups: [AccessGroup],
        with new: consuming ReplacingItem,
        group: AccessGroup,
        authorization: ItemAuthorization
    ) throws(KeychainError) -> VaultOutcome<Replacement> {
        let call = VaultCall.replace(
            query,
            groups: groups,
            new.item.attributes,
            group: group,
            data: Self.octets(new.item.data)
        )
        switch try answer(call) {
        case .page, .count: return .done(.replaced)
        case .unsettled: return .needsHardware(.replaced)
        case .needs(let controls): return .needsUser(controls)
        case .needsKey: return .needsKey
        }
    }

    func erase(
        _ query: ItemQuery,
        groups: [AccessGroup],
        secret: consuming SecretBytes
    ) throws(KeychainError) -> VaultOutcome<Erasure> {
        switch try answer(.erase(query, groups: groups, secret: secret.withUnsafeBytes { Array($0) })) {
        case .page: return .done(Erasure(deleted: 1))
        case .count(let count): return .done(Erasure(different: count))
        case .unsettled(let count): return .needsHardware(Erasure(deleted: count))
        case .needs(let controls): return .needsUser(controls)
        case .needsKey: return .needsKey
        }
    }

    func key(of password: ApplicationPassword) async throws(KeychainError) -> PasswordKey {
        state.withLock { $0.derived += 1 }
        let octets = password.withOctets { span in span.indices.map { span[$0] } }
        return PasswordKey(SecretBytes(copying: octets))
    }

    func settle() async -> Bool {
        state.withLock { $0.settled += 1 }
        return true
    }

    func check() -> StoreReport {
        StoreReport(items: 0, invalidated: 0, damaged: 0, isSetAuthentic: true, faults: [])
    }

    func storeFaults() -> [String] { [] }

    func itemsFault() -> DriverCause? { nil }

    private func answer(_ call: VaultCall) throws(KeychainError) -> VaultAnswer {
        let calls = state.withLock { state in
            state.calls.append(call)
            return state.calls
        }
        return try script(calls)
    }

    private func items(_ call: VaultCall) throws(KeychainError) -> VaultOutcome<EncodedItems> {
        switch try answer(call) {
        case .page(let items, let next): .done(Self.encoded(items, next))
        case .count: .done(Self.encoded([], nil))
        case .unsettled: .needsHardware(Self.encoded([], nil))
        case .needs(let controls): .needsUser(controls)
        case .needsKey: .needsKey
        }
    }

    private func count(_ call: VaultCall) throws(KeychainError) -> VaultOutcome<Int> {
        switch try answer(call) {
        case .page: .done(1)
        case .count(let count): .done(count)
        case .unsettled(let count): .needsHardware(count)
        case .needs(let controls): .needsUser(controls)
        case .needsKey: .needsKey
        }
    }

    private static func octets(_ data: borrowing SecretBytes?) -> [UInt8]? {
        switch data {
        case .some(let data): data.withUnsafeBytes { Array($0) }
        case .none: nil
        }
    }

    private static func encoded(_ items: [[UInt8]], _ next: ItemCursor?) -> EncodedItems {
        var writer = WireWriter(SecretBuffer())
        for item in items {
            writer.writeMapHead(count: 1)
            writer.write(unsigned: ItemField.data)
            writer.write(bytes: item)
        }
        return EncodedItems(octets: writer.finish(), count: items.count, next: next)
    }
}

/// Records the audit events.
final class ScriptedAudit: AuditLog {
    private let kept = Guarded<[AuditEvent]>([])
    private let threadClock = Guarded<clockid_t?>(nil)
    var events: [AuditEvent] { kept.withLock { $0 } }
    /// The CPU-time clock of the thread that recorded the last event.
    var clockOfThread: clockid_t? { threadClock.withLock { $0 } }

    func record(_ event: AuditEvent) {
        kept.withLock { $0.append(event) }
        var clock = clockid_t()
        if pthread_getcpuclockid(pthread_self(), &clock) == 0 { threadClock.withLock { $0 = clock } }
    }
}

/// A flag that can be raised once.
final class Flag: Sendable {
    private let state = Guarded(false)
    var isRaised: Bool { state.withLock { $0 } }
    func raise() { state.withLock { $0 = true } }
}
