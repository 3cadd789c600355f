internal import KeychainClient
internal import KeychainModel

/// Apple's API over a private keychain.
extension PrivateKeychain {
    /// Runs `body` with this keychain as the user's: `SecItemAdd`, `LAContext` and the rest of the API use it, and its
    /// person sees their prompts.
    ///
    /// ```swift
    /// try keychain.use { #expect(SecItemAdd(item as CFDictionary, nil) == errSecSuccess) }
    /// ```
    package func use<R>(_ body: () throws -> R) rethrows -> R {
        try KeychainConnection.$current.withValue(client) {
            try KeychainConnection.$promptOrigin.withValue(prompt().origin, operation: body)
        }
    }

    /// Runs `body`, and the child tasks that it starts, with this keychain as the user's.
    package func use<R>(
        isolation: isolated (any Actor)? = #isolation,
        _ body: () async throws -> R
    ) async rethrows -> R {
        try await KeychainConnection.$current.withValue(client) {
            try await KeychainConnection.$promptOrigin.withValue(prompt().origin) { try await body() }
        }
    }
}
