import KeychainModel
import SecretMemory

/// Errors that arise on this side of the socket.
extension KeychainError {
    /// The daemon went away while a request was under way; whether it was carried out is not known.
    static func connectionLost(_ detail: String) -> KeychainError {
        let cause = DriverCause(.connectionLost, detail: detail)
        let error = AuthenticationError(.systemCancel, cause: cause, remedy: .retry)
        return KeychainError(.internalComponent, authentication: error)
    }

    /// There is no daemon to talk to.
    static func notAvailable(_ cause: KnownCause, detail: String? = nil) -> KeychainError {
        notAvailable(DriverCause(cause, detail: detail))
    }

    /// There is no daemon to talk to, for a reason that has no name of its own.
    static func notAvailable(_ cause: DriverCause) -> KeychainError {
        KeychainError(.notAvailable, cause: cause, remedy: .check)
    }

    /// Whether nobody could look which program this is when the request's connection was made, so that nothing was done.
    var isOfUntoldProgram: Bool { status == .notAvailable && cause?.known == .brokerAway }

    /// The app ended its own request.
    static var cancelledByApp: KeychainError { KeychainError(AuthenticationError(.appCancel)) }

    /// Why a connection is of no use any more, which an error ended.
    static func broken(by error: any Error) -> KeychainError {
        if case .noLockedMemory? = error as? WireError { return .unintelligible(error) }
        return (error as? KeychainError) ?? .connectionLost("\(error)")
    }

    /// What the daemon sent is not an answer to what was asked.
    static func unintelligible(_ error: any Error) -> KeychainError {
        if let error = error as? KeychainError { return error }
        if let error = error as? SecretMemoryError { return KeychainError(error) }
        if case .noLockedMemory(let number)? = error as? WireError {
            return KeychainError(SecretMemoryError(.pagesRefused, errno: number))
        }
        return connectionLost("unintelligible reply (\(error))")
    }
}
