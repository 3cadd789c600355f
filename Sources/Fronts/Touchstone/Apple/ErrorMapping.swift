internal import Foundation
internal import LocalAuthentication
internal import Security

extension TouchstoneError {
    /// The error of this module for a status of the keychain.
    ///
    /// - Parameters:
    ///   - status: Not `errSecSuccess`.
    ///   - asks: Whether the item's rule asks the user; if not, `errSecInteractionNotAllowed` means that the
    ///     keychain is locked.
    init(status: OSStatus, asks: Bool = false) {
        var code = Code(osStatus: Int(status)) ?? .serviceFailed
        if code == .interactionNeeded, !asks { code = .locked }
        self.init(code, part: "Security", cause: "OSStatus \(status)")
    }

    /// The error of this module for an error of LocalAuthentication or of a key.
    init(system error: any Error, asks: Bool = true) {
        let error = error as NSError
        switch error.domain {
        case LAError.errorDomain:
            let code = Code(laError: error.code) ?? .serviceFailed
            self.init(code, part: "LocalAuthentication", cause: "LAError \(error.code)")
        case NSOSStatusErrorDomain: self.init(status: OSStatus(error.code), asks: asks)
        default: self.init(.serviceFailed, part: error.domain, cause: "\(error.code)")
        }
    }

    /// The same error with the number of the chosen fallback.
    func choosing(_ index: Int) -> TouchstoneError {
        TouchstoneError(
            code,
            part: part,
            cause: cause,
            nextStep: nextStep,
            retryAfter: retryAfter,
            fallbackIndex: index,
            details: details
        )
    }

    /// The error for a secret that was stored and can never be opened again.
    static var invalidatedItem: TouchstoneError {
        TouchstoneError(.invalidated, part: "Security", cause: "OSStatus \(errSecItemNotFound)")
    }
}
