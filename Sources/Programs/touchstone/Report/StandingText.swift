import KeychainModel

/// Why a passcode would not open the keychain, in words for `status` and `doctor`.
extension StatusReply {
    /// Why the passcode would not open the keychain now, and the remedy; nil when it would.
    var obstacle: ErrorText.Lines? {
        switch keybag {
        case .notSetUp, .damaged: return nil
        case .locked, .lockedAfterFirstUnlock, .unlocked: break
        }
        if let fault = authentication.storeFault { return words(for: fault) }
        if let fault = authentication.hardwareFault { return words(for: fault) }
        return authentication.isClosed ? words(for: .closed) : nil
    }

    /// The keychain's state in words, and the remedy.
    var standing: ErrorText.Lines {
        switch (keybag, obstacle) {
        case (.notSetUp, _): ("not set up; touchstone setup creates it", nil)
        case (.damaged, _): ("damaged; touchstone doctor says more", nil)
        case (.unlocked, let obstacle?): ("unlocked, but \(obstacle.message)", obstacle.hint)
        case (.unlocked, nil): ("unlocked", nil)
        case (_, let obstacle?):
            ("locked, and the passcode cannot open it: \(obstacle.message)", obstacle.hint)
        case (.locked, nil): ("locked; the passcode opens it", nil)
        case (.lockedAfterFirstUnlock, nil): ("locked again; the passcode opens it", nil)
        }
    }

    /// What is wrong with the items, and the remedy; nil if no fault is known.
    ///
    /// A rolled-back copy is intact; it gets the same text as in a command for one secret.
    var itemsTrouble: (message: String, hint: String)? {
        if itemsFault == .rolledBack {
            let lines = words(for: .rolledBack)
            return (lines.message, lines.hint ?? "touchstone recover")
        }
        guard !storeFaults.isEmpty else { return nil }
        if let itemsFault, isDiskFault {
            let words = words(for: itemsFault)
            return ("cannot be used: " + words.message, words.hint ?? "touchstone doctor")
        }
        return (
            "damaged: " + storeFaults.joined(separator: "; "),
            "touchstone repair shows what is wrong, by name"
        )
    }

    /// Whether the items cannot be used because of their disk or their place, which is no damage.
    var isDiskFault: Bool {
        guard let itemsFault else { return false }
        return itemsFault.isUnwritableDisk || itemsFault.isFullDisk || itemsFault.known == .filesReplaced
    }

    /// What does not work while system mode's broker is unreachable; nil if it answers or is not needed.
    var brokerTrouble: String? {
        guard let brokerFault else { return nil }
        return words(for: brokerFault).message
            + ": programs that connect now cannot access any items, and secrets that require the enrolled fingers are not released"
    }

    private func words(for fault: DriverCause) -> ErrorText.Lines {
        CauseText.lines(fault, nil) ?? ("\(fault.domain): \(fault.code)", "touchstone doctor")
    }
}

extension AuthenticationStatus {
    /// The sentence about a replaced counter file.
    static let tamperedSentence =
        "the file that counts failed attempts was replaced by an older one; the newer counts hold"
}
