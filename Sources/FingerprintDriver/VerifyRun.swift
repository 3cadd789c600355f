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
            guard outcome == nil else { break }
            pass.started()
            status(.armed)
        case .failure(let error):
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
    func abort(_ error: FingerprintError) {
        if abortion == nil { abortion = error }
        end(.failure(error))
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
