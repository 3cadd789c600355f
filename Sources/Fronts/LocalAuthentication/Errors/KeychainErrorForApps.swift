import Foundation
package import KeychainModel
import Security

extension KeychainError {
    /// The error as an app expects it from rights and keys: ``LAError`` if the user was needed, otherwise an
    /// `NSError` with the `OSStatus`.
    package var errorForApps: any Error {
        let neededUser = authentication != nil || status == .interactionNotAllowed
        return neededUser ? LAError(self) : NSError(self)
    }
}
