import Foundation
import KeychainModel
import Security

extension LAError {
    /// The error of an authentication, with texts and cause.
    init(_ error: AuthenticationError) { self.init(_nsError: NSError(error)) }

    /// The error of a request to the keychain: of its authentication where there was one.
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
            // What a right guards is gone or damaged: nothing that the user shows can open it.
            case .authFailed, .itemNotFound, .decode: .authenticationFailed
            case .notAvailable where error.cause == .notSetUp: .passcodeNotSet
            case .notAvailable: .biometryNotAvailable
            default: .systemCancel
            }
        self.init(AuthenticationError(code, cause: error.cause, remedy: error.remedy))
    }
}
