import CoreFoundation
import Foundation
import Security

/// Runs functions of Security that may wait for the daemon, on a private queue.
enum KeyWork {
    /// Calls `handler` once, with the result or the error of `work`.
    static func run(
        _ handler: @escaping @Sendable (Data?, (any Error)?) -> Void,
        _ work: @escaping @Sendable (UnsafeMutablePointer<Unmanaged<CFError>?>) -> CFData?
    ) {
        Evaluation.later {
            var failure: Unmanaged<CFError>?
            if let result = work(&failure) {
                handler(result as Data, nil)
            } else {
                handler(nil, failure.map { errorForApps($0.takeRetainedValue()) })
            }
        }
    }

    /// Waits for the call of a handler.
    static func wait(
        _ start: (@escaping @Sendable (Data?, (any Error)?) -> Void) -> Void
    ) async throws -> Data {
        try await withCheckedThrowingContinuation { continuation in
            start { data, error in
                continuation.resume(with: error.map(Result.failure) ?? .success(data ?? Data()))
            }
        }
    }

    /// Unwraps the ``LAError`` if the user was needed.
    private static func errorForApps(_ error: CFError) -> any Error {
        guard let underlying = error.userInfo[NSUnderlyingErrorKey] as? NSError,
            underlying.domain == LAErrorDomain
        else { return error }
        return LAError(_nsError: underlying)
    }
}
