import KeychainModel

@testable import AuthenticationEngine

extension AuthenticationSession {
    /// Another session in the same state.
    borrowing func copy() -> AuthenticationSession {
        var copy = AuthenticationSession(setup)
        copy.phase = phase
        copy.record = record
        copy.isUnlocked = isUnlocked
        copy.passcodeDue = passcodeDue
        copy.stage = stage
        copy.factors = factors
        copy.boxCount = boxCount
        copy.seen = seen
        copy.typedOn = typedOn
        copy.isUnseen = isUnseen
        copy.message = message
        copy.claim = claim
        copy.sensorDelay = sensorDelay
        copy.busyPause = busyPause
        copy.waitCount = waitCount
        copy.isLookLate = isLookLate
        copy.attempt = attempt
        copy.retryScans = retryScans
        copy.missCount = missCount
        return copy
    }

    /// Why the enrolment is being checked; nil if it is not.
    var check: Check? {
        if case .looking(let check) = phase { check } else { nil }
    }

    /// What follows once the sensor is stopped.
    var next: Next? {
        if case .stopping(let stop) = phase { stop.next } else { nil }
    }

    var isTrying: Bool { uncounted != nil }

    /// The counts before the passcode being tried was counted.
    var uncounted: AttemptRecord? {
        if case .trying(let trying) = phase { trying.uncounted } else { nil }
    }

    var doom: AuthenticationError? {
        if case .trying(let trying) = phase { trying.doom } else { nil }
    }
}

/// The state of a session and its environment: everything that determines what may follow.
///
/// Numbers of prompts and waits grow and only matter as to whether they are the last ones; texts of a prompt
/// matter only where the session compares them; the length of a pause matters only to the clock.
struct SessionState: Hashable {
    private let failures: [Int]
    private let mayTry: UInt8
    private let flags: [Bool]
    private let stage: SessionStage
    private let factors: Set<AuthenticationFactor>
    private let channels: [PromptChannel?]
    private let check: UInt8
    private let sensor: UInt8
    private let claim: AuthenticationSession.Claim
    private let ends: [String]
    private let witness: SessionWitness

    init(_ session: borrowing AuthenticationSession, _ witness: SessionWitness, at now: BootTime) {
        let record = session.record
        let uncounted = session.uncounted ?? AttemptRecord(biometryFailures: -1, passcodeFailures: -1)
        failures = [
            record.biometryFailures, record.passcodeFailures, uncounted.biometryFailures,
            uncounted.passcodeFailures, session.retryScans,
        ]
        mayTry =
            switch PasscodeThrottle(record).verdict(at: now) {
            case .mayTry: 0
            case .wait: 1
            case .closed: 2
            }
        let attempt = session.attempt
        flags = [
            session.isUnlocked, session.isUnseen, session.isTrying, session.isOver, session.box != nil,
            session.box?.isVisible == true, session.sensorDelay == .zero, attempt != nil,
            attempt?.wasArmed == true, attempt?.hadContact == true, attempt?.isScanning == true,
            session.message == Self.busy, session.box?.message == Self.busy,
            session.seen.contains(Self.here), session.seen.contains(Self.there), session.isLookLate,
        ]
        stage = session.stage
        factors = session.factors
        channels = [session.typedOn, session.box?.channel]
        check =
            switch session.check {
            case nil: 0
            case .atStart: 1
            case .afterPasscode: 2
            case .afterMatch: 3
            }
        sensor =
            switch session.sensor {
            case .off: 0
            case .waiting: 1
            case .claiming: 2
            case .armed: 3
            }
        claim = session.claim
        var next = ""
        switch session.next {
        case nil: break
        case .show: next = "show"
        case .tryPasscode: next = "try"
        case .end(let error): next = Self.name(error)
        }
        ends = [next, session.doom.map(Self.name) ?? "", session.passcodeDue?.code ?? ""]
        var witness = witness
        witness.box = witness.box.map { _ in 0 }
        self.witness = witness
    }

    static let here = PromptChannel("here")
    static let there = PromptChannel("there")
    private static let busy = "The sensor is in use."

    private static func name(_ error: AuthenticationError) -> String {
        "\(error.code.rawValue) \(error.cause?.code ?? "")"
    }
}
