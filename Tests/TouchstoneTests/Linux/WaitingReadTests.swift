import Dispatch
import Foundation
import Glibc
import SecretMemory
import Testing
import Touchstone
import TouchstoneTesting

@Suite("A read that waits for the daemon", .timeLimit(.minutes(20)))
struct WaitingReadTests {
    /// A task executor with a single thread.
    private final class OneThread: TaskExecutor {
        private let queue = DispatchQueue(label: "one thread")

        func enqueue(_ job: consuming ExecutorJob) {
            let job = UnownedJob(job)
            queue.async { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
        }
    }

    @Test("a waiting read does not block its executor's only thread, and finishes when the daemon answers")
    func stopped() async throws {
        let world = try await World.withFinger()
        let executor = OneThread()
        try await world.use {
            let store = SecretStore("waiting", rule: .whenUnlocked)
            try await store.write("x", for: "k")
            #expect(try await store.read("k", as: String.self) == "x")
            let daemon = world.keychain.processID
            let (hasBegun, read, turns) = (Guarded(false), Guarded<String?>(nil), Guarded(0))
            kill(daemon, SIGSTOP)
            defer { kill(daemon, SIGCONT) }
            try await Deadline.wait(for: "the stop") {
                let status = try? String(contentsOfFile: "/proc/\(daemon)/status", encoding: .utf8)
                return status?.contains("State:\tT") == true ? true : nil
            }
            let reading = Task(executorPreference: executor) {
                hasBegun.withLock { $0 = true }
                let text = try await store.read("k", as: String.self)
                read.withLock { $0 = text }
            }
            try await Deadline.wait(for: "the read") { hasBegun.withLock(\.self) ? true : nil }
            let other = Task(executorPreference: executor) {
                for _ in 0..<100 {
                    turns.withLock { $0 += 1 }
                    await Task.yield()
                }
            }
            try await Deadline.wait(for: "the other's turns") { turns.withLock(\.self) == 100 ? true : nil }
            #expect(read.withLock(\.self) == nil)
            kill(daemon, SIGCONT)
            await other.value
            try await reading.value
            #expect(read.withLock(\.self) == "x")
        }
    }
}
