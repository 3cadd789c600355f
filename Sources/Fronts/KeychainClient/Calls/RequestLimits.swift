import KeychainModel
import SecretMemory

/// Rejects requests for which the daemon would close the connection, with the status that an app expects.
extension PromptFields {
    func checkLimits() throws(KeychainError) {
        try Self.check(origin.terminal)
        try Self.check(origin.terminalType)
        try Self.check(origin.display)
        try Self.check(origin.waylandDisplay)
        try Self.check(origin.xAuthority)
        try Self.check(origin.characterType)
        try Self.check(origin.language)
        try Self.check(reason)
        try Self.check(details.title)
        try Self.check(details.subtitle)
        try Self.check(details.items, atMost: PromptDetails.mostItems)
        try Self.check(cancelTitle)
        let fallbacks = fallbackTitles ?? []
        try Self.check(fallbacks, atMost: PromptDetails.mostFallbacks)
        if fallbacks.contains("") { throw Self.textRefused }
    }

    private static var textRefused: KeychainError {
        KeychainError(AuthenticationError(.invalidParameter, cause: DriverCause(.promptText)))
    }

    private static func check(_ texts: [String], atMost most: Int) throws(KeychainError) {
        guard texts.count <= most else { throw textRefused }
        for text in texts { try check(text) }
    }

    private static func check(_ text: String?) throws(KeychainError) {
        guard let text else { return }
        guard text.utf8.count <= Self.longestText, !text.utf8.contains(0) else {
            throw textRefused
        }
    }
}

extension ItemQuery {
    func checkLimits() throws(KeychainError) {
        try attributes.checkLimits()
        guard references.count <= ItemLimits.mostReferences else { throw KeychainError(.param) }
        if case .count(let count) = limit, count < 1 { throw KeychainError(.param) }
        guard returns.isSubset(of: .known) else { throw KeychainError(.param) }
    }
}

extension SecretBytes? {
    var octetCount: Int {
        switch self {
        case .some(let octets): octets.count
        case .none: 0
        }
    }

    borrowing func checkLimits() throws(KeychainError) {
        switch self {
        case .some(let octets) where octets.count > ItemLimits.longestData: throw KeychainError(.dataTooLarge)
        default: break
        }
    }
}
