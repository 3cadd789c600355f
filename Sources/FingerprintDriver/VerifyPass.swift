import KeychainModel

/// One `VerifyStart` until its `VerifyStop`: which signals count, and what they mean.
///
/// A status counts between the reply to `VerifyStart` and the first final one, and at no other time.
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
        case ended
    }

    private var state = State.starting

    /// The finger that fprintd compares with: `any` from a sensor that identifies; nil before it is told.
    private(set) var selectedFinger: String?

    /// fprintd answered `VerifyStart`.
    mutating func started() {
        if case .starting = state { state = .armed }
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
        guard case .armed = state else { return nil }
        switch signal {
        case .fingerPresent(let isPresent): return isPresent ? .status(.fingerPresent) : nil
        case .verifyStatus(let result, let done): return status(result, done: done)
        case .enrollStatus, .verifyFingerSelected: return nil
        }
    }

    private mutating func status(_ result: String, done: Bool) -> Step {
        switch result {
        case "verify-match": return finish(.success(.match))
        case "verify-no-match": return finish(.success(.noMatch))
        case "verify-disconnected": return finish(.failure(FingerprintError(.disconnected)))
        case "verify-unknown-error": return finish(.failure(FingerprintError(.unknownError)))
        // The four kinds of poor picture, and those that a later fprintd may add.
        default:
            guard done else { return .status(.retry(result)) }
            return finish(.failure(FingerprintError(.init(rawValue: result))))
        }
    }

    private mutating func finish(_ result: Result<FingerprintVerdict, FingerprintError>) -> Step {
        state = .ended
        return .end(result)
    }
}
