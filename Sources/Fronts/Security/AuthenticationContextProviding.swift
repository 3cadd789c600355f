package import KeychainModel

/// What `kSecUseAuthenticationContext` accepts: an `LAContext`, which this module cannot name.
package protocol AuthenticationContextProviding: AnyObject {
    /// Its number on the connection, and how it wants its prompts, for use in a keychain operation.
    ///
    /// - Throws: `errSecAuthFailed` when the context was invalidated.
    func describeForKeychain() throws(KeychainError) -> AuthenticationContextDescription
}

/// A context, as an item operation needs it.
package struct AuthenticationContextDescription: Sendable {
    /// Its number on the connection.
    package var number: UInt64
    /// How it wants its prompts.
    package var prompt: PromptFields

    package init(number: UInt64, prompt: PromptFields) {
        self.number = number
        self.prompt = prompt
    }
}

extension PromptFields {
    /// A text cut to what a prompt accepts; prompts show far less of it.
    package static func fitting(_ text: String) -> String {
        var fitted = text.utf8.contains(0) ? String(text.filter { $0 != "\0" }) : text
        while fitted.utf8.count > longestText {
            fitted = String(decoding: fitted.utf8.prefix(longestText), as: UTF8.self)
            while fitted.utf8.count > longestText { fitted.removeLast() }
        }
        return fitted
    }
}
