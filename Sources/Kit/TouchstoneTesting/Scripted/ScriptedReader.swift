package import KeychainModel

/// A sensor that the test touches.
///
/// ```swift
/// let reader = ScriptedReader()
/// await reader.touch(.noMatch)    // waits until the sensor is armed
/// await reader.touch(.match)
/// ```
package final class ScriptedReader: FingerprintReader {
    /// The result of a touch on an armed sensor.
    package enum Touch: Sendable, Equatable {
        /// The finger is enrolled.
        case match
        /// The finger is not enrolled.
        case noMatch
        /// The finger touches; there is no verdict yet.
        case contact
        /// The picture was poor; the string is fprintd's.
        case retry(String)
        /// The sensor fails.
        case fail(FingerprintError)
    }

    fileprivate struct State: Sendable {
        var enrolment: Result<Enrolment, FingerprintError>
        var isSilent = false
        var claimFailures: [FingerprintError] = []
        var isClaimed = false
        var armed: Int?
        var armCount = 0
        var stopped: Set<Int> = []
        var touches: [Touch] = []
        var lastWord: FingerprintVerdict?
        var listeners: [AsyncStream<FingerprintChange>.Continuation] = []
    }

    fileprivate let state: Watched<State>
    fileprivate let journal: Journal

    /// Creates a sensor with two enrolled fingers.
    ///
    /// - Parameter journal: records `claim`, `arm`, `disarm` and `release`.
    package init(journal: Journal = Journal()) {
        self.journal = journal
        state = Watched(State(enrolment: .success(Self.twoFingers)))
    }

    /// The enrolment of a new reader.
    package static let twoFingers = Enrolment(
        device: "Scripted sensor",
        fingers: ["left-index-finger", "right-index-finger"],
        templateDigest: nil,
        completions: 0
    )

    // MARK: For tests

    /// Sets the enrolment, or the error that reading it gives.
    package func enrol(_ enrolment: Result<Enrolment, FingerprintError>) {
        state.update { $0.enrolment = enrolment }
    }

    /// Makes reading the enrolment wait until this is called with false, as with an fprintd that does not reply.
    package func keepSilent(_ isSilent: Bool) {
        state.update { $0.isSilent = isSilent }
    }

    /// Makes the next claims fail, each with one of the errors.
    package func failClaims(_ errors: [FingerprintError]) {
        state.update { $0.claimFailures += errors }
    }

    /// Makes the sensor report a verdict while it is being stopped, as real ones may.
    package func lastWord(_ verdict: FingerprintVerdict) {
        state.update { $0.lastWord = verdict }
    }

    /// Puts a finger on the sensor as soon as it is armed.
    package func touch(_ touch: Touch) async {
        await armed()
        state.update { $0.touches.append(touch) }
    }

    /// Puts a finger on the sensor now; does nothing unless it is armed.
    ///
    /// - Returns: whether the sensor was armed.
    @discardableResult
    package func touchNow(_ touch: Touch) -> Bool {
        state.update { state in
            guard state.armed != nil else { return false }
            state.touches.append(touch)
            return true
        }
    }

    /// Waits until the sensor is armed and has handled the touches before.
    package func armed() async {
        _ = await state.wait { $0.armed != nil && $0.touches.isEmpty ? true : nil } as Bool
    }

    /// Whether the sensor is armed.
    package var isArmed: Bool { state.update { $0.armed != nil } }

    /// Whether the sensor is claimed.
    package var isClaimed: Bool { state.update { $0.isClaimed } }

    /// Sends a change to the listeners, after waiting for at least one.
    package func send(_ change: FingerprintChange) async {
        let listeners = await state.wait { $0.listeners.isEmpty ? nil : $0.listeners }
        for listener in listeners { listener.yield(change) }
    }

    // MARK: FingerprintReader

    /// The present enrolment, read without arming the sensor.
    package func enrolment() async throws(FingerprintError) -> Enrolment {
        try await state.wait { $0.isSilent ? nil : $0.enrolment }.get()
    }

    /// Claims the sensor for this process alone, until the claim is released.
    package func claim() async throws(FingerprintError) -> any FingerprintClaim {
        let result: Result<Void, FingerprintError> = state.update { state in
            if !state.claimFailures.isEmpty { return .failure(state.claimFailures.removeFirst()) }
            guard !state.isClaimed else { return .failure(FingerprintError(.alreadyInUse)) }
            state.isClaimed = true
            return .success(())
        }
        try result.get()
        journal.note("claim")
        return ScriptedClaim(reader: self)
    }

    /// Records that the machine may sleep.
    package func allowSleep() async { journal.note("sleep") }

    /// Changes of enrolment and sleep, as the test sends them.
    package func changes() async -> AsyncStream<FingerprintChange> {
        let (stream, continuation) = AsyncStream<FingerprintChange>.makeStream()
        state.update { $0.listeners.append(continuation) }
        return stream
    }
}

private struct ScriptedClaim: FingerprintClaim {
    let reader: ScriptedReader

    func verify(
        status: @escaping @Sendable (FingerprintStatus) -> Void
    ) async throws(FingerprintError) -> FingerprintVerdict {
        reader.journal.note("arm")
        status(.armed)
        let number = reader.state.update { state in
            state.armCount += 1
            state.armed = state.armCount
            return state.armCount
        }
        let result: Result<FingerprintVerdict, FingerprintError> = await withTaskCancellationHandler {
            while true {
                switch await nextTouch(number) {
                case .match: return .success(.match)
                case .noMatch: return .success(.noMatch)
                case .contact: status(.fingerPresent)
                case .retry(let word): status(.retry(word))
                case .fail(let error): return .failure(error)
                }
            }
        } onCancel: {
            _ = reader.state.update { $0.stopped.insert(number) }
        }
        if case .failure = result { await release() }
        return try result.get()
    }

    /// Waits for a touch; its verdict disarms the sensor in the same step, so that a test cannot touch it in between.
    private func nextTouch(_ number: Int) async -> ScriptedReader.Touch {
        let touch = await reader.state.wait { state -> ScriptedReader.Touch? in
            let touch: ScriptedReader.Touch
            if !state.touches.isEmpty {
                touch = state.touches.removeFirst()
            } else if state.stopped.contains(number) {
                switch state.lastWord.take() {
                case .match: touch = .match
                case .noMatch: touch = .noMatch
                case nil: touch = .fail(FingerprintError(.cancelled))
                }
            } else {
                return nil
            }
            switch touch {
            case .match, .noMatch, .fail: state.armed = nil
            case .contact, .retry: break
            }
            return touch
        }
        switch touch {
        case .match, .noMatch, .fail: reader.journal.note("disarm")
        case .contact, .retry: break
        }
        return touch
    }

    func release() async { letGo() }

    func letGo() {
        let wasClaimed = reader.state.update { state in
            defer { state.isClaimed = false }
            return state.isClaimed
        }
        if wasClaimed { reader.journal.note("release") }
    }
}
