import KeychainModel

/// Errors that arise on this side of the socket.
extension KeychainError {
    /// The daemon went away while a request was under way; whether it was carried out is not known.
    static func connectionLost(_ detail: String) -> KeychainError {
        let cause = DriverCause(domain: "touchstone", code: "connectionLost: \(detail)")
        let error = AuthenticationError(.systemCancel, cause: cause, remedy: .retry)
        return KeychainError(.internalComponent, authentication: error)
    }

    /// There is no daemon to talk to.
    static func notAvailable(_ code: String, domain: String = "touchstone") -> KeychainError {
        KeychainError(.notAvailable, cause: DriverCause(domain: domain, code: code), remedy: .check)
    }

    /// The app ended its own request.
    static var cancelledByApp: KeychainError { KeychainError(AuthenticationError(.appCancel)) }

    /// What the daemon sent is not an answer to what was asked.
    static func unintelligible(_ error: any Error) -> KeychainError {
        if let error = error as? KeychainError { return error }
        return connectionLost("unintelligible reply (\(error))")
    }
}
