import KeychainModel

/// One pass from `VerifyStart` to `VerifyStop`: which signals count, and what they mean.
///
/// A status counts only between the reply to `VerifyStart` and the first final status. That holds also if the caller
/// cancels: a verdict reached before it stands.
struct VerifyPass: ~Copyable {
    /// The consequence of a signal.
    enum Step: Equatable {
        /// Report the status; the sensor stays armed.
        case status(FingerprintStatus)
        /// The pass is over: disarm the sensor.
        case end(Result<FingerprintVerdict, FingerprintError>)
    }

    private enum State {
        case starting
        case armed
        /// The caller cancelled: `VerifyStop` is sent, behind another call.
        case stopping(Stopping)
        case ended
    }

    private struct Stopping {
        /// fprintd answered `VerifyStart`.
        var isStarted: Bool
        /// fprintd answered the call before `VerifyStop`.
        var isFenced = false
        /// fprintd's verdict before that.
        var lastWord: Result<FingerprintVerdict, FingerprintError>?
    }

    private var state = State.starting

    /// The finger that fprintd compares with: `any` for a sensor that identifies; nil until it is announced.
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

    /// The caller cancelled; what fprintd announced before it learnt of that counts.
    mutating func stop() {
        switch state {
        case .starting: state = .stopping(Stopping(isStarted: false))
        case .armed: state = .stopping(Stopping(isStarted: true))
        case .stopping, .ended: break
        }
    }

    /// fprintd answered the call that was sent before `VerifyStop`.
    ///
    /// A verdict from here on is only the end of a cancelled verification: `verify-no-match`, whichever finger
    /// touched the sensor.
    mutating func fenced() {
        guard case .stopping(var stopping) = state else { return }
        stopping.isFenced = true
        state = .stopping(stopping)
    }

    /// The verdict before fprintd learnt of the cancellation; nil if there was none.
    var lastWord: Result<FingerprintVerdict, FingerprintError>? {
        guard case .stopping(let stopping) = state else { return nil }
        return stopping.lastWord
    }

    /// Whether the sensor was armed before the caller cancelled.
    var wasArmed: Bool {
        guard case .stopping(let stopping) = state else { return true }
        return stopping.isStarted
    }

    /// Ends the pass: later signals are too late, `VerifyStop` follows.
    mutating func end() { state = .ended }

    /// Handles a signal of the claimed sensor.
    mutating func receive(_ signal: DeviceSignal.Kind) -> Step? {
        // It may follow the status, and even then it tells the kind of the sensor.
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
        // The four statuses for a poor image, and any that a later fprintd may add.
        default:
            done ? .end(.failure(FingerprintError(.init(rawValue: result)))) : .status(.retry(result))
        }
    }
}
