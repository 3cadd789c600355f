import KeychainModel
import SecretMemory
import TouchstoneTesting

@testable import AuthenticationEngine

/// An engine with scripted peers.
final class World: Sendable {
    let journal = Journal()
    let clock = StandingClock()
    let reader: ScriptedReader
    let prompter: ScriptedPrompter
    let keybag: ScriptedKeybag
    let attempts: MemoryAttemptStore
    let audit = AuditRecorder()
    let seats = ScriptedSeats()
    let configuration: AuthenticationConfiguration
    let engine: AuthenticationEngine

    static let passcode = "correct horse battery"

    // No settling time, and the passcode was entered on the terminal, unless a test says otherwise.
    init(
        state: KeybagState = .unlocked,
        record: AttemptRecord? = nil,
        settlingTime: Duration = .zero,
        seen: [String] = ["/dev/pts/0"],
        _ adjust: (inout AuthenticationConfiguration) -> Void = { _ in }
    ) {
        reader = ScriptedReader(journal: journal)
        prompter = ScriptedPrompter(journal: journal)
        keybag = ScriptedKeybag(state: state, passcode: Self.passcode, journal: journal)
        let now = clock.now()
        attempts = MemoryAttemptStore(
            record ?? AttemptRecord(lastPasscodeSuccess: now, lastUse: now),
            journal: journal
        )
        var configuration = AuthenticationConfiguration()
        configuration.settlingTime = settlingTime
        adjust(&configuration)
        self.configuration = configuration
        engine = Self.engine(reader, prompter, keybag, attempts, clock, audit, seats, configuration, seen)
    }

    /// Another engine with the same peers, as after the daemon was killed and restarted.
    func restartedEngine() -> AuthenticationEngine {
        Self.engine(reader, prompter, keybag, attempts, clock, audit, seats, configuration, [])
    }

    private static func engine(
        _ reader: ScriptedReader,
        _ prompter: ScriptedPrompter,
        _ keybag: ScriptedKeybag,
        _ attempts: MemoryAttemptStore,
        _ clock: StandingClock,
        _ audit: AuditRecorder,
        _ seats: ScriptedSeats,
        _ configuration: AuthenticationConfiguration,
        _ seen: [String]
    ) -> AuthenticationEngine {
        AuthenticationEngine(
            reader: reader,
            prompter: prompter,
            keybag: keybag,
            attempts: attempts,
            clock: clock,
            audit: audit,
            seats: seats,
            configuration: configuration,
            timer: clock.timer,
            seen: SeenChannels(seen.map { PromptChannel($0) })
        )
    }

    // MARK: Requests

    static func caller(
        _ pid: Int32 = 100,
        uid: UInt32 = 1000,
        program: String? = "/usr/bin/app"
    ) -> Caller {
        guard let group = AccessGroup("tests") else { fatalError("a group has a name") }
        return Caller(uid: uid, pid: pid, processStart: 7, program: program, accessGroup: group)
    }

    static func request(
        _ caller: Caller = caller(),
        terminal: String? = "/dev/pts/0",
        interactionAllowed: Bool = true
    ) -> PromptRequest {
        PromptRequest(
            caller: caller,
            origin: PromptOrigin(terminal: terminal),
            reason: "open the safe",
            interactionAllowed: interactionAllowed
        )
    }

    func evaluation(
        _ policy: AuthenticationPolicy,
        reuse: Duration = .zero,
        _ request: PromptRequest = World.request()
    ) -> Evaluation {
        evaluation(.policy(policy), reuse: reuse, request)
    }

    func evaluation(
        _ target: Evaluation.Target,
        reuse: Duration = .zero,
        _ request: PromptRequest = World.request()
    ) -> Evaluation {
        Evaluation(
            target: target,
            context: ContextID(connection: 1, number: 1),
            request: request,
            reuse: reuse
        )
    }

    /// Starts an evaluation; the task's value is its result.
    func start(
        _ evaluation: Evaluation,
        on engine: AuthenticationEngine? = nil
    ) -> Task<Result<AuthenticationProof, AuthenticationError>, Never> {
        let engine = engine ?? self.engine
        return Task {
            do throws(AuthenticationError) {
                return .success(try await engine.evaluate(evaluation))
            } catch {
                return .failure(error)
            }
        }
    }

    func start(_ policy: AuthenticationPolicy) -> Task<
        Result<AuthenticationProof, AuthenticationError>, Never
    > {
        start(evaluation(policy))
    }
}

extension Result where Success == AuthenticationProof, Failure == AuthenticationError {
    var factors: Set<AuthenticationFactor>? { try? get().factors }
    var error: AuthenticationError? {
        guard case .failure(let error) = self else { return nil }
        return error
    }
    var code: AuthenticationError.Code? { error?.code }
}

/// Keeps the counts in memory and records each save in the journal.
final class MemoryAttemptStore: AttemptStore {
    private struct State {
        var record: AttemptRecord
        var failure: KeychainError?
    }

    private let state: Guarded<State>
    private let journal: Journal

    init(_ record: AttemptRecord, journal: Journal) {
        state = Guarded(State(record: record))
        self.journal = journal
    }

    var record: AttemptRecord { state.withLock { $0.record } }

    /// Makes saving fail, as on a full disk.
    func fail(_ error: KeychainError?) {
        state.withLock { $0.failure = error }
    }

    func load() throws(KeychainError) -> AttemptRecord { record }

    func save(_ record: AttemptRecord) throws(KeychainError) {
        let failure = state.withLock { state in
            if state.failure == nil { state.record = record }
            return state.failure
        }
        if let failure { throw failure }
        journal.note("save \(record.biometryFailures) \(record.passcodeFailures)")
    }
}

/// Records audit events.
final class AuditRecorder: AuditLog {
    private let events = Guarded<[AuditEvent]>([])

    func record(_ event: AuditEvent) { events.withLock { $0.append(event) } }

    func count(_ kind: AuditEvent.Kind) -> Int { details(kind).count }

    func details(_ kind: AuditEvent.Kind) -> [String] {
        events.withLock { $0.filter { $0.kind == kind }.map(\.detail) }
    }
}

/// A keybag with one passcode and without cryptography.
final class ScriptedKeybag: KeybagKeeper {
    private struct State {
        var state: KeybagState
        var passcode: String
        var code = "0123-4567-89AB-CDEF-GHJK-MNPQ-RSTV"
        var assurance = Assurance.softwareUser
        var known: Enrolment?
        var isHeld = false
        var openings: [CheckedContinuation<Void, Never>] = []
        var failure: KeychainError?
        var isEscrowed = false
        var isMigrating = false
        var lockoutCode: String?
        var hasHardware = false
        var isRecoverable = true
    }

    private let inner: Guarded<State>
    private let journal: Journal

    init(state: KeybagState, passcode: String, journal: Journal) {
        inner = Guarded(State(state: state, passcode: passcode))
        self.journal = journal
    }

    var passcode: String { inner.withLock { $0.passcode } }
    /// The enrolled set that the keybag knows.
    var enrolled: Enrolment? { inner.withLock { $0.known } }
    func become(_ state: KeybagState) { inner.withLock { $0.state = state } }
    func lose() { inner.withLock { ($0.state, $0.isRecoverable) = (.damaged, false) } }
    func isRecoverable() async -> Bool { inner.withLock { $0.isRecoverable } }
    func fail(_ error: KeychainError?) { inner.withLock { $0.failure = error } }
    func set(_ assurance: Assurance) { inner.withLock { $0.assurance = assurance } }

    /// Holds back the answers to passcodes until ``answer()``.
    func hold() { inner.withLock { $0.isHeld = true } }
    func answer() {
        let openings = inner.withLock { inner in
            inner.isHeld = false
            defer { inner.openings = [] }
            return inner.openings
        }
        for opening in openings { opening.resume() }
    }

    func state() async -> KeybagState { inner.withLock { $0.state } }
    func assurance() async -> AssuranceReport {
        AssuranceReport(inner.withLock { $0.assurance }, reasons: [])
    }
    /// Puts the keybag on hardware that holds its key in escrow.
    func escrow() {
        inner.withLock { inner in
            inner.hasHardware = true
            inner.isEscrowed = true
        }
    }
    func moveToHardware() { inner.withLock { $0.hasHardware = true } }
    var isMigrating: Bool { inner.withLock { $0.isMigrating } }
    var lockoutCode: String? { inner.withLock { $0.lockoutCode } }

    func holdsEscrow() async -> Bool { inner.withLock { $0.isEscrowed } }
    func open(with proof: AuthenticationProof) async throws(KeychainError) {
        journal.note("open by finger")
        let isOpened = inner.withLock { inner in
            guard inner.isEscrowed, proof.factors.contains(.biometry), inner.failure == nil else {
                return false
            }
            inner.state = .unlocked
            return true
        }
        guard isOpened else { throw KeychainError(.authFailed) }
    }
    func forgetEscrow() async {
        inner.withLock { $0.isEscrowed = false }
        journal.note("forget escrow")
    }
    func migrateAtNextOpening() async throws(KeychainError) {
        guard inner.withLock({ $0.hasHardware }) else { throw KeychainError(.param) }
        inner.withLock { $0.isMigrating = true }
    }
    func abandonMigration() async { inner.withLock { $0.isMigrating = false } }
    func canProtectLockout() async throws(KeychainError) -> Bool {
        inner.withLock { $0.hasHardware && $0.lockoutCode == nil }
    }
    func startOver() async throws(KeychainError) -> String? {
        inner.withLock { $0.state = .notSetUp }
        journal.note("start over")
        return "former-1"
    }

    func protectLockout(with code: borrowing SecretBytes) async throws(KeychainError) {
        let text = Self.text(code)
        inner.withLock { $0.lockoutCode = text }
        journal.note("protect lockout")
    }
    func makeRecoveryCode() throws(KeychainError) -> SecretBytes {
        SecretBytes(copying: Array(inner.withLock { $0.code }.utf8))
    }

    func setUp(
        passcode: consuming SecretBytes,
        recoveryCode: borrowing SecretBytes,
        enrolled: Enrolment?
    ) async throws(KeychainError) {
        let text = Self.text(passcode)
        inner.withLock { inner in
            inner.passcode = text
            inner.state = .unlocked
            inner.known = enrolled
        }
        journal.note("set up")
    }

    func open(passcode: borrowing SecretBytes) async throws(KeychainError) -> PasscodeOpening {
        journal.note("open")
        let text = Self.text(passcode)
        await withCheckedContinuation { continuation in
            let waits = inner.withLock { inner in
                if inner.isHeld { inner.openings.append(continuation) }
                return inner.isHeld
            }
            if !waits { continuation.resume() }
        }
        let (isRight, failure) = inner.withLock { inner in
            let isRight = inner.passcode == text && inner.failure == nil
            if isRight { inner.state = .unlocked }
            return (isRight, inner.failure)
        }
        if let failure { throw failure }
        return isRight ? .opened(PasscodeKey(SecretBytes.random(count: 32))) : .wrong
    }

    func lock() async {
        inner.withLock { inner in
            if inner.state == .unlocked { inner.state = .lockedAfterFirstUnlock }
        }
        journal.note("lock")
    }

    func changePasscode(
        to passcode: consuming SecretBytes,
        proof: AuthenticationProof
    ) async throws(KeychainError) {
        guard proof.passcodeKey != nil else { throw KeychainError(.authFailed) }
        let text = Self.text(passcode)
        inner.withLock { $0.passcode = text }
        journal.note("change")
    }

    func changeRecoveryCode(
        to code: borrowing SecretBytes,
        proof: AuthenticationProof
    ) async throws(KeychainError) {
        guard proof.passcodeKey != nil else { throw KeychainError(.authFailed) }
        let text = Self.text(code)
        inner.withLock { $0.code = text }
        journal.note("new code")
    }

    func recover(
        code: borrowing SecretBytes,
        newPasscode: consuming SecretBytes
    ) async throws(KeychainError) {
        guard try await accepts(recoveryCode: code) else { throw KeychainError(.authFailed) }
        let text = Self.text(newPasscode)
        inner.withLock { inner in
            inner.passcode = text
            inner.state = .unlocked
        }
        journal.note("recover")
    }

    func accepts(recoveryCode: borrowing SecretBytes) async throws(KeychainError) -> Bool {
        let text = Self.text(recoveryCode)
        // As in the real keybag, a code has seven groups of four.
        guard text.count == 34 else { throw KeychainError(.param, cause: .mistypedRecoveryCode) }
        return inner.withLock { $0.code == text }
    }

    func repair(
        proof: AuthenticationProof,
        accepting: Bool
    ) async throws(KeychainError) -> StoreRepair { StoreRepair() }

    func observe(_ enrolment: Enrolment) async throws(KeychainError) -> EnrolmentObservation {
        guard enrolment.binding != .untold else {
            if let failure = inner.withLock(\.failure) { throw failure }
            return EnrolmentObservation(domainState: nil, changed: false, binding: .untold)
        }
        let (changed, failure) = inner.withLock { inner in
            defer { inner.known = enrolment }
            return (inner.known.map { $0 != enrolment } ?? false, inner.failure)
        }
        if let failure { throw failure }
        return EnrolmentObservation(
            domainState: Array(repeating: UInt8(enrolment.fingers.count), count: 32),
            changed: changed,
            binding: enrolment.binding
        )
    }

    private static func text(_ secret: borrowing SecretBytes) -> String {
        secret.withOctets { octets in String(decoding: octets.indices.map { octets[$0] }, as: UTF8.self) }
    }
}
