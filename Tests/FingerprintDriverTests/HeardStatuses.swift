import KeychainModel
import Synchronization
import TouchstoneTesting

/// The statuses that a verification reported before its verdict.
final class HeardStatuses: Sendable {
    private let statuses = Mutex<[FingerprintStatus]>([])

    var all: [FingerprintStatus] { statuses.withLock { $0 } }

    func hear(_ status: FingerprintStatus) { statuses.withLock { $0.append(status) } }

    /// Waits until a status was reported `times` times.
    func wait(for status: FingerprintStatus, times: Int = 1) async throws {
        try await Deadline.wait(for: "\(status)") { all.count { $0 == status } >= times ? true : nil }
    }
}

/// Counts calls of a hook.
final class Counter: Sendable {
    private let number = Mutex(0)

    var count: Int { number.withLock { $0 } }

    func add() { number.withLock { $0 += 1 } }
}

extension FingerprintReader {
    /// Claims the sensor, verifies while `body` runs, and releases it.
    func verify(
        during body: @escaping @Sendable (HeardStatuses) async throws -> Void
    ) async throws -> (verdict: FingerprintVerdict, heard: [FingerprintStatus]) {
        let claim = try await claim()
        let heard = HeardStatuses()
        do {
            async let verdict = claim.verify { heard.hear($0) }
            try await body(heard)
            let result = try await verdict
            await claim.release()
            return (result, heard.all)
        } catch {
            await claim.release()
            throw error
        }
    }
}
