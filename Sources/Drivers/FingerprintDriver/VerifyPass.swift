import KeychainModel

/// One `VerifyStart` until its `VerifyStop`: which signals count, and what they mean.
///
/// A status counts between the reply to `VerifyStart` and the first final one, and at no other time. That holds also
/// when the caller gave up: what was judged until then stays judged.
struct VerifyPass: ~Copyable {
    /// What a signal leads to.
    enum Step: Equatable {
        /// Tell it; the sensor stays armed.
        case status(FingerprintStatus)
        /// The end: disarm.
        case end(Result<FingerprintVerdict, FingerprintError>)
    }

    private enum State {
        case starting
        case armed
        /// The caller gave up: `VerifyStop` is on its way, behind another call.
        case stopping(Stopping)
        case ended
    }

    private struct Stopping {
        /// fprintd answered `VerifyStart`.
        var isStarted: Bool
        /// fprintd answered the call before `VerifyStop`.
        var isFenced = false
        /// What it said before that.
        var lastWord: Result<FingerprintVerdict, FingerprintError>?
    }

    private var state = State.starting

    /// The finger that fprintd compares with: `any` from a sensor that identifies; nil before it is told.
    private(set) var selectedFinger: String?

    /// fprintd answered `VerifyStart`.
    mutating func started() {
        switch state {
        case .starting: state = .armed
        case .stopping(var stopping):
            stopping.isStarted = true
            state = .stopping(stopping)
        case .armed, .ended: break
        }
    }

    /// The caller gave up; what fprintd announced before it heard of that counts.
    mutating func stop() {
        switch state {
        case .starting: state = .stopping(Stopping(isStarted: false))
        case .armed: state = .stopping(Stopping(isStarted: true))
        case .stopping, .ended: break
        }
    }

    /// fprintd answered the call that was sent before `VerifyStop`: a verdict from here on is what a cancelled
    /// verification ends with, `verify-no-match` whoever touched the sensor.
    mutating func fenced() {
        guard case .stopping(var stopping) = state else { return }
        stopping.isFenced = true
        state = .stopping(stopping)
    }

    /// What was judged before fprintd heard that the caller gave up; nil when nothing was.
    var lastWord: Result<FingerprintVerdict, FingerprintError>? {
        guard case .stopping(let stopping) = state else { return nil }
        return stopping.lastWord
    }

    /// Whether the sensor was armed before the caller gave up.
    var wasArmed: Bool {
        guard case .stopping(let stopping) = state else { return true }
        return stopping.isStarted
    }

    /// Whatever comes now is too late: `VerifyStop` follows.
    mutating func end() { state = .ended }

    /// fprintd announced something about our sensor.
    mutating func receive(_ signal: DeviceSignal.Kind) -> Step? {
        // It may follow the status, and even then it tells what kind of sensor this is.
        if case .verifyFingerSelected(let finger) = signal {
            selectedFinger = finger
            return nil
        }
        let step: Step
        switch signal {
        case .fingerPresent(let isPresent):
            guard isPresent else { return nil }
            step = .status(.fingerPresent)
        case .verifyStatus(let result, let done): step = Self.step(result, done: done)
        case .enrollStatus, .verifyFingerSelected: return nil
        }
        switch state {
        case .starting, .ended: return nil
        case .armed:
            if case .end = step { state = .ended }
            return step
        case .stopping(var stopping):
            guard stopping.isStarted else { return nil }
            guard case .end(let result) = step else { return step }
            if !stopping.isFenced, stopping.lastWord == nil { stopping.lastWord = result }
            state = .stopping(stopping)
            return nil
        }
    }

    private static func step(_ result: String, done: Bool) -> Step {
        switch result {
        case "verify-match": .end(.success(.match))
        case "verify-no-match": .end(.success(.noMatch))
        case "verify-disconnected": .end(.failure(FingerprintError(.disconnected)))
        case "verify-unknown-error": .end(.failure(FingerprintError(.unknownError)))
        // The four kinds of poor picture, and those that a later fprintd may add.
        default:
            done ? .end(.failure(FingerprintError(.init(rawValue: result)))) : .status(.retry(result))
        }
    }
}
