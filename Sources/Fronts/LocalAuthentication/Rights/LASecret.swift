public import Foundation
import KeychainClient
import KeychainModel
import SecretMemory
import Security

/// The secret data of a saved right.
public final class LASecret: NSObject, Sendable {
    private let right: LAPersistedRight

    init(of right: LAPersistedRight) {
        self.right = right
        super.init()
    }

    /// Reads the data; empty if the right was saved without a secret.
    ///
    /// - Parameter handler: called once, on a private queue, with the data or an error:
    ///   ``LAError/Code/notInteractive`` if the right is not authorized.
    public func loadData(completion handler: @escaping @Sendable (Data?, (any Error)?) -> Void) {
        Evaluation.later { [right] in
            do throws(KeychainError) {
                handler(try RightItem(right.identifier).secret(of: right), nil)
            } catch {
                handler(nil, error.errorForApps)
            }
        }
    }

    /// The data; empty if the right was saved without a secret.
    ///
    /// Throws ``LAError`` with ``LAError/Code/notInteractive`` if the right is not authorized.
    public var rawData: Data {
        get async throws {
            try await withCheckedThrowingContinuation { continuation in
                loadData { data, error in
                    continuation.resume(with: error.map(Result.failure) ?? .success(data ?? Data()))
                }
            }
        }
    }
}
