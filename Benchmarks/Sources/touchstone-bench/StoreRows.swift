import AppCalls
import Dispatch
import Foundation
import KeychainClient
import KeychainModel
import SecretMemory
import Touchstone

/// `SecretStore`, compared to Apple's function that finds the same item.
enum StoreRows {
    private static let key = "bench"
    private static let reads = 50

    /// Measures reads of one secret, alternating; leaves the store of items unchanged.
    static func measure(_ stage: Stage, _ scale: Scale, into table: inout Table) throws {
        let client = stage.keychain.connect()
        let store = SecretStore(
            "touchstone-bench",
            rule: .whenUnlocked,
            in: Keychain(client, promptsAt: stage.keychain.prompt.origin)
        )
        let calls = AppCalls(service: BenchItem.service)
        try wait { try await store.write(Data(BenchItem.secret), for: key) }
        let lookups = (0..<reads).map { calls.lookup(BenchItem.account(stage.present($0))) }
        let medians = try KeychainConnection.$current.withValue(client) {
            try KeychainConnection.$promptOrigin.withValue(stage.keychain.prompt.origin) {
                try Stopwatch.medians(
                    of: max(1, scale.lookups / reads),
                    inTurnsOf: 1,
                    [
                        // One task for many reads, so that starting it does not count.
                        { _ in
                            try wait {
                                for _ in 0..<reads {
                                    _ = try await store.read(key, as: Data.self, with: .silent)
                                }
                            }
                        },
                        { _ in for lookup in lookups { _ = try calls.copy(lookup) } },
                    ]
                )
            }
        }
        try wait { try await store.deleteAll() }
        let (ours, raw) = (medians[0] / Int64(reads), medians[1] / Int64(reads))
        table.add(
            Row(
                "SecretStore.read, \(stage.count) items",
                ours: Figure(ours),
                "SecItem",
                Figure(raw),
                .atMost(3)
            )
        )
        let warm = try capability(of: stage, client)
        table.add(Row("Keychain.capability, warm", ours: Figure(warm)))
    }

    /// Measures a capability check whose result is cached.
    private static func capability(of stage: Stage, _ client: RemoteKeychain) throws -> Nanoseconds {
        let keychain = Keychain(client, promptsAt: stage.keychain.prompt.origin)
        let time = Guarded<Nanoseconds>(0)
        try wait {
            // The daemon reports changes from a moment after the first check on.
            for _ in 0..<100 {
                _ = try await keychain.capability(for: .passcode)
                try await Task.sleep(for: .milliseconds(1))
            }
            let start = Stopwatch.now()
            for _ in 0..<1000 { _ = try await keychain.capability(for: .passcode) }
            let end = Stopwatch.now()
            time.withLock { $0 = (end - start) / 1000 }
        }
        return time.withLock(\.self)
    }

    /// Blocks this thread until an asynchronous call has finished.
    private static func wait(_ body: @escaping @Sendable () async throws -> Void) throws {
        let done = DispatchSemaphore(value: 0)
        let failure = Guarded<(any Error)?>(nil)
        Task {
            do { try await body() } catch { failure.withLock { $0 = error } }
            done.signal()
        }
        done.wait()
        if let error = failure.withLock(\.self) { throw error }
    }
}
