package import KeychainModel

/// The type that `kSecUseAuthenticationContext` accepts: `LAContext`, which this module cannot import.
package protocol AuthenticationContextProviding: AnyObject {
    /// The context's number on the connection and its prompt fields, for a keychain operation.
    ///
    /// - Throws: `errSecAuthFailed` if the context was invalidated.
    func describeForKeychain() throws(KeychainError) -> AuthenticationContextDescription
}

/// A context's data for an item operation.
package struct AuthenticationContextDescription: Sendable {
    /// The context's number on the connection.
    package var number: UInt64
    /// The context's prompt fields.
    package var prompt: PromptFields

    package init(number: UInt64, prompt: PromptFields) {
        self.number = number
        self.prompt = prompt
    }
}

extension PromptFields {
    /// Shortens a text to the limit of the protocol; prompts show far less of it.
    package static func fitting(_ text: String) -> String {
        var fitted = text.utf8.contains(0) ? String(text.filter { $0 != "\0" }) : text
        while fitted.utf8.count > longestText {
            fitted = String(decoding: fitted.utf8.prefix(longestText), as: UTF8.self)
            while fitted.utf8.count > longestText { fitted.removeLast() }
        }
        return fitted
    }
}
