/// Decides whether a change of credentials is made now or has to wait.
public protocol CredentialGuard: Sendable {
    /// How long a change that the user asks for has to wait; begins the wait if it has to, and has none yet.
    ///
    /// - Returns: nil if the change can be made now.
    /// - Throws: ``KeychainError`` if that cannot be read or recorded: the change must not be made.
    func wait(before change: CredentialChange) async throws(KeychainError) -> Duration?

    /// A change was made: the next one waits anew.
    func made(_ change: CredentialChange) async

    /// The enrolled fingers changed: they wait, if changes have to.
    func fingersChanged() async

    /// How long the enrolled fingers count for nothing; nil if they count.
    func fingersWait() async -> Duration?

    /// The keychain is gone: forgets what is known of it.
    func forget() async
}

/// Tells which network the machine is in.
public protocol PlaceReader: Sendable {
    /// The present network.
    ///
    /// - Throws: ``PlaceError`` if there is none that tells where the machine is.
    func place() async throws(PlaceError) -> NetworkPlace
}

/// Why no network tells where the machine is.
public enum PlaceError: String, Error, Sendable, CaseIterable {
    /// NetworkManager is not on the bus, or does not reply.
    case noNetworkManager = "NetworkManager does not reply"
    /// There is no connection.
    case noConnection = "there is no network connection"
    /// The connection is not over Wi-Fi, and a cable does not tell where it leads.
    case notWireless = "the connection is not over Wi-Fi, and a cable does not tell where it leads"
    /// The access point has not proved that it is one of the network's: anybody can offer one of that name.
    case open = "the Wi-Fi network has no password, so that anybody can offer one of its name"
}

extension AuthenticationError {
    /// The error of a change that has to wait.
    public static func changeDelayed(_ delay: Duration) -> AuthenticationError {
        AuthenticationError(
            .systemCancel,
            cause: DriverCause(.changeDelayed),
            remedy: .wait(seconds: delay.wholeSeconds)
        )
    }

    /// The error of fingers that count for nothing yet.
    public static func fingersDelayed(_ delay: Duration) -> AuthenticationError {
        AuthenticationError(
            .biometryNotAvailable,
            cause: DriverCause(.fingersDelayed),
            remedy: .wait(seconds: delay.wholeSeconds)
        )
    }
}
