import Glibc
import Threads

/// A call that waits, as one that asks a person does, on a thread of its own.
///
/// Not in a task: Swift's pool has a thread for each processor, and two tests that hold both of them wait for each other.
///
/// ```swift
/// let asked = BlockingCall { try keychain.client.unlock(prompt) }
/// try await Deadline.wait(for: "the box") { keychain.prompts > shown ? true : nil }
/// await #expect(throws: KeychainError.self) { try await asked.value }
/// ```
package struct BlockingCall<Value: Sendable>: Sendable {
    private let task: Task<Value, any Error>

    /// Makes the call at once.
    package init(_ body: @escaping @Sendable () throws -> Value) {
        task = Task {
            try await withCheckedThrowingContinuation { continuation in
                let result = BlockingThread.start { continuation.resume(with: Result { try body() }) }
                if result != 0 {
                    continuation.resume(throwing: TestKitError.unexpected("no thread: errno \(result)"))
                }
            }
        }
    }

    /// What it returns or throws, once it has.
    package var value: Value { get async throws { try await task.value } }
}
