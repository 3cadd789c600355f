import KeychainModel

/// A claim on the sensor; dropping it lets go of the sensor as ``letGo()`` does.
///
/// A verification that ends with an error has let go already.
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
        // It is on the reader's thread before a claim that is asked for after this.
        Task.immediate { await reader.release(number) }
    }

    func release() async { await reader.release(number) }
}

/// What the reader keeps of a claim; lives on the thread of the bus.
final class ClaimedSensor {
    /// The sensor, of the fprintd that granted the claim.
    let device: FprintDevice
    /// fprintd's names of the enrolled fingers, sorted: nobody can change them while the sensor is ours.
    let fingers: [String]
    /// The verification that runs.
    var run: VerifyRun?
    /// The `VerifyStop` that was sent last.
    var disarming: BusCall?
    /// The task that lets go.
    var releasing: Task<Void, Never>?

    private var waiters: [CheckedContinuation<Void, Never>] = []

    init(device: FprintDevice, fingers: [String]) {
        self.device = device
        self.fingers = fingers
    }

    /// Waits until fprintd has answered `VerifyStop`, whatever it says.
    nonisolated(nonsending) func untilDisarmed() async {
        _ = try? await disarming?.reply()
    }

    /// The verification ended.
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
