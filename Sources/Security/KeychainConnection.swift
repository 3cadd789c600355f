package import KeychainClient

/// The keychain that the fronts talk to.
package enum KeychainConnection {
    /// The user's own; another one inside `$current.withValue`.
    @TaskLocal package static var current = RemoteKeychain.shared
}
