import Glibc
import Threads

/// A blocking call, such as one that prompts the user, on a dedicated thread.
///
/// Not in a task: Swift's pool has one thread per processor, and two tests that block both of them would wait for each
/// other.
///
/// ```swift
/// let asked = BlockingCall { try keychain.client.unlock(prompt) }
/// try await Deadline.wait(for: "the box") { keychain.prompts > shown ? true : nil }
/// await #expect(throws: KeychainError.self) { try await asked.value }
/// ```
package struct BlockingCall<Value: Sendable>: Sendable {
    private let task: Task<Value, any Error>

    /// Starts the call at once.
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

    /// The call's result or error, once it has returned.
    package var value: Value { get async throws { try await task.value } }
}
