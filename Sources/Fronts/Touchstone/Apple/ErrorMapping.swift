internal import Foundation
internal import LocalAuthentication
internal import Security

extension TouchstoneError {
    /// What a status of the keychain means here.
    ///
    /// - Parameters:
    ///   - status: Not `errSecSuccess`.
    ///   - asks: Whether the item asks the user; where it does not, a keychain that wants the user is a locked one.
    init(status: OSStatus, asks: Bool = false) {
        var code = Code(osStatus: Int(status)) ?? .serviceFailed
        if code == .interactionNeeded, !asks { code = .locked }
        self.init(code, part: "Security", cause: "OSStatus \(status)")
    }

    /// What an error of the system's means here: of an authentication, or of a key.
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

    /// A secret that was there and can never be opened again.
    static var invalidatedItem: TouchstoneError {
        TouchstoneError(.invalidated, part: "Security", cause: "OSStatus \(errSecItemNotFound)")
    }
}
