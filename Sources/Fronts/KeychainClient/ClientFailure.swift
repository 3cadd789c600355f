import KeychainModel
import SecretMemory

/// Errors that arise in the client.
extension KeychainError {
    /// The connection was lost during a request; whether it was carried out is unknown.
    static func connectionLost(_ detail: String) -> KeychainError {
        let cause = DriverCause(.connectionLost, detail: detail)
        let error = AuthenticationError(.systemCancel, cause: cause, remedy: .retry)
        return KeychainError(.internalComponent, authentication: error)
    }

    /// The daemon cannot be reached.
    static func notAvailable(_ cause: KnownCause, detail: String? = nil) -> KeychainError {
        notAvailable(DriverCause(cause, detail: detail))
    }

    /// The daemon cannot be reached, for a cause that is not a ``KnownCause``.
    static func notAvailable(_ cause: DriverCause) -> KeychainError {
        KeychainError(.notAvailable, cause: cause, remedy: .check)
    }

    /// Whether the daemon refused the request because it could not identify this program when the connection was made;
    /// nothing was done.
    var isOfUntoldProgram: Bool {
        status == .notAvailable && (cause?.known == .brokerAway || cause?.known == .programUnverified)
    }

    /// The app cancelled its own request.
    static var cancelledByApp: KeychainError { KeychainError(AuthenticationError(.appCancel)) }

    /// The reason why a connection can no longer be used, from the error that ended it.
    static func broken(by error: any Error) -> KeychainError {
        if case .noLockedMemory? = error as? WireError { return .unintelligible(error) }
        return (error as? KeychainError) ?? .connectionLost("\(error)")
    }

    /// The daemon's reply does not fit the request.
    static func unintelligible(_ error: any Error) -> KeychainError {
        if let error = error as? KeychainError { return error }
        if let error = error as? SecretMemoryError { return KeychainError(error) }
        if case .noLockedMemory(let number)? = error as? WireError {
            return KeychainError(SecretMemoryError(.pagesRefused, errno: number))
        }
        return connectionLost("unintelligible reply (\(error))")
    }
}
