import KeychainModel
import MessageBus

/// A claim on the sensor; destroying it releases the sensor as ``letGo()`` does.
///
/// A verification that ends with an error has already released it.
final class FprintClaim: FingerprintClaim {
    private let reader: FprintReader
    private let number: UInt64

    init(reader: FprintReader, number: UInt64) {
        self.reader = reader
        self.number = number
    }

    deinit { letGo() }

    func verify(
        status: @escaping @Sendable (FingerprintStatus) -> Void
    ) async throws(FingerprintError) -> FingerprintVerdict {
        try await reader.verify(number, status: status)
    }

    func letGo() {
        let (reader, number) = (reader, number)
        // It is enqueued on the reader's thread before any later claim.
        Task.immediate { await reader.release(number) }
    }

    func release() async { await reader.release(number) }
}

/// The reader's state of a claim; confined to the bus's thread.
final class ClaimedSensor {
    /// The sensor, of the fprintd that granted the claim.
    let device: FprintDevice
    /// fprintd's names of the enrolled fingers, sorted: they cannot change while the sensor is claimed.
    var fingers: [String] = []
    /// The running verification.
    var run: VerifyRun?
    /// Whether a verification ended without `VerifyStop`, because the machine announced sleep.
    var isLeftArmed = false
    /// The latest `VerifyStop`.
    var disarming: BusCall?
    /// The task that releases the claim.
    var releasing: Task<Void, Never>?

    private var waiters: [CheckedContinuation<Void, Never>] = []

    init(device: FprintDevice) { self.device = device }

    /// Waits for the reply to `VerifyStop`, even an error.
    nonisolated(nonsending) func untilDisarmed() async {
        _ = try? await disarming?.reply()
    }

    /// Records the end of the verification.
    func ended() {
        run = nil
        let waiters = waiters
        self.waiters = []
        for waiter in waiters { waiter.resume() }
    }

    /// Waits until no verification runs.
    nonisolated(nonsending) func untilEnded() async {
        guard run != nil else { return }
        await withCheckedContinuation { waiters.append($0) }
    }
}
