import KeychainModel
import MessageBus

/// A running verification: its signals, its status callback, and the caller that waits for its end.
final class VerifyRun {
    /// How a pass ended.
    typealias Outcome = Result<FingerprintVerdict, FingerprintError>

    /// The sensor.
    let device: FprintDevice
    /// The finger that fprintd chose in the latest pass.
    var selectedFinger: String? { pass.selectedFinger }

    private let status: @Sendable (FingerprintStatus) -> Void
    private var pass = VerifyPass()
    /// Ends this pass and prevents further ones.
    private(set) var abortion: FingerprintError?
    private var outcome: Outcome?
    private var isAnswered = false
    private var waiter: CheckedContinuation<Outcome, Never>?

    init(device: FprintDevice, status: @escaping @Sendable (FingerprintStatus) -> Void) {
        self.device = device
        self.status = status
    }

    /// Sends `VerifyStart` and waits for the end of the pass; the sensor may still be armed afterwards.
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

    /// Handles a signal of the claimed sensor from the fprintd that granted the claim.
    func receive(_ signal: DeviceSignal.Kind) {
        switch pass.receive(signal) {
        case .status(let event)?: status(event)
        case .end(let result)?: end(result)
        case nil: break
        }
    }

    /// Ends the verification for a reason of this process.
    ///
    /// A verification that the caller cancelled still receives signals until it is stopped: see ``stopped(_:)``.
    func abort(_ error: FingerprintError) {
        if abortion == nil { abortion = error }
        guard error == FingerprintError(.cancelled), outcome == nil else { return end(.failure(error)) }
        pass.stop()
        outcome = .failure(error)
        resume()
    }

    /// Whether the caller cancelled before there was a verdict.
    var isGivenUp: Bool { outcome == .failure(FingerprintError(.cancelled)) }

    /// Sends `VerifyStop` after a call without effect: a verdict that fprintd announces before it answers that call
    /// was reached before it could know of the cancellation.
    func beginStop() -> BusCall {
        device.askName { [self] in pass.fenced() }
        return device.beginVerifyStop()
    }

    /// Handles the reply to `VerifyStop`, or its absence.
    ///
    /// - Returns: the verdict on the touch before it.
    /// - Throws: `cancelled` if the sensor was stopped before it judged anything; after any other error the verdict
    ///   is unknown.
    func stopped(_ failure: FingerprintError?) throws(FingerprintError) -> FingerprintVerdict {
        let (lastWord, wasArmed) = (pass.lastWord, pass.wasArmed)
        pass.end()
        do throws(FingerprintError) {
            if let lastWord { return try lastWord.get() }
            // A sensor that was never armed cannot be stopped: its error does not matter.
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

    /// `VerifyStop` must not overtake the reply to `VerifyStart`: the sensor would stay armed.
    private func resume() {
        guard isAnswered, let outcome else { return }
        waiter.take()?.resume(returning: outcome)
    }

    /// Reports which finger is wanted next.
    func want(_ finger: String) { status(.finger(finger)) }
}
