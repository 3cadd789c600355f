import Foundation
import KeychainModel
import Security

extension LAError {
    /// The error for an authentication failure, with texts and cause.
    init(_ error: AuthenticationError) { self.init(_nsError: NSError(error)) }

    /// The error for a failed request to the keychain; the authentication's error if there was one.
    init(_ error: KeychainError) {
        if let authentication = error.authentication {
            self.init(authentication)
            return
        }
        let code: AuthenticationError.Code =
            switch error.status {
            case .userCanceled: .userCancel
            case .interactionNotAllowed, .interactionRequired: .notInteractive
            case .param: .invalidParameter
            // The right's item is missing or damaged: no authentication can open it.
            case .authFailed, .itemNotFound, .decode: .authenticationFailed
            case .notAvailable where error.cause == .notSetUp: .passcodeNotSet
            case .notAvailable: .biometryNotAvailable
            default: .systemCancel
            }
        self.init(AuthenticationError(code, cause: error.cause, remedy: error.remedy))
    }
}
