import KeychainModel

/// A verification of ours while it runs: who is listened to, and who waits for its end.
final class VerifyRun {
    /// How a pass ended.
    typealias Outcome = Result<FingerprintVerdict, FingerprintError>

    /// The sensor.
    let device: FprintDevice
    /// The finger that fprintd chose in the pass that ran last.
    var selectedFinger: String? { pass.selectedFinger }

    private let status: @Sendable (FingerprintStatus) -> Void
    private var pass = VerifyPass()
    /// Ends this pass and all that would follow.
    private(set) var abortion: FingerprintError?
    private var outcome: Outcome?
    private var isAnswered = false
    private var waiter: CheckedContinuation<Outcome, Never>?

    init(device: FprintDevice, status: @escaping @Sendable (FingerprintStatus) -> Void) {
        self.device = device
        self.status = status
    }

    /// Sends `VerifyStart` and waits for the end of the pass; the sensor may still be armed then.
    nonisolated(nonsending) func start(_ finger: String) async -> Outcome {
        if let abortion { return .failure(abortion) }
        pass = VerifyPass()
        outcome = nil
        isAnswered = false
        return await withCheckedContinuation { continuation in
            waiter = continuation
            device.verifyStart(finger) { [self] in answered($0) }
        }
    }

    private func answered(_ reply: Bus.Reply) {
        isAnswered = true
        switch reply {
        case .success:
            pass.started()
            guard outcome == nil else { break }
            status(.armed)
        case .failure(let error):
            guard outcome == nil else { break }
            end(.failure(FingerprintError(error)))
        }
        resume()
    }

    /// A signal of our sensor, from the fprintd that we claimed it from.
    func receive(_ signal: DeviceSignal.Kind) {
        switch pass.receive(signal) {
        case .status(let event)?: status(event)
        case .end(let result)?: end(result)
        case nil: break
        }
    }

    /// Ends the verification for a reason of ours.
    ///
    /// One that the caller gave up is listened to until it is stopped: see ``stop()``.
    func abort(_ error: FingerprintError) {
        if abortion == nil { abortion = error }
        guard error == FingerprintError(.cancelled), outcome == nil else { return end(.failure(error)) }
        pass.stop()
        outcome = .failure(error)
        resume()
    }

    /// Whether the caller gave up before there was a verdict.
    var isGivenUp: Bool { outcome == .failure(FingerprintError(.cancelled)) }

    /// Sends `VerifyStop` behind a call of no effect: what fprintd announces before it answers that one was judged
    /// before it could know that the caller gave up.
    func beginStop() -> BusCall {
        device.askName { [self] in pass.fenced() }
        return device.beginVerifyStop()
    }

    /// fprintd answered `VerifyStop`, or did not.
    ///
    /// - Returns: the verdict on the touch that came before.
    /// - Throws: `cancelled` when the sensor was stopped before it judged anything; any other error says that nobody
    ///   knows what it judged.
    func stopped(_ failure: FingerprintError?) throws(FingerprintError) -> FingerprintVerdict {
        let (lastWord, wasArmed) = (pass.lastWord, pass.wasArmed)
        pass.end()
        do throws(FingerprintError) {
            if let lastWord { return try lastWord.get() }
            // A sensor that was never armed cannot be stopped.
            if let failure, wasArmed { throw failure }
            throw FingerprintError(.cancelled)
        } catch {
            abortion = error
            throw error
        }
    }

    private func end(_ result: Outcome) {
        pass.end()
        if outcome == nil { outcome = result }
        resume()
    }

    /// `VerifyStop` must not overtake the answer to `VerifyStart`: the sensor would stay armed.
    private func resume() {
        guard isAnswered, let outcome else { return }
        waiter.take()?.resume(returning: outcome)
    }

    /// Says which finger is wanted next, or now.
    func want(_ finger: String) { status(.finger(finger)) }
}
