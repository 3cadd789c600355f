import KeychainModel

/// What stands between a keychain and its passcode, in words for `status` and `doctor`.
extension StatusReply {
    /// Why the passcode would not open it now, and the way out; nil when it would.
    var obstacle: ErrorText.Lines? {
        switch keybag {
        case .notSetUp, .damaged: return nil
        case .locked, .lockedAfterFirstUnlock, .unlocked: break
        }
        if let fault = authentication.storeFault { return words(for: fault) }
        if let fault = authentication.hardwareFault { return words(for: fault) }
        return authentication.isClosed ? words(for: .closed) : nil
    }

    /// The keychain's state in words, and what to do about it.
    var standing: ErrorText.Lines {
        switch (keybag, obstacle) {
        case (.notSetUp, _): ("not set up; touchstone setup makes it", nil)
        case (.damaged, _): ("damaged; touchstone doctor says more", nil)
        case (.unlocked, let obstacle?): ("unlocked, but \(obstacle.message)", obstacle.hint)
        case (.unlocked, nil): ("unlocked", nil)
        case (_, let obstacle?):
            ("locked, and the passcode cannot open it: \(obstacle.message)", obstacle.hint)
        case (.locked, nil): ("locked; the passcode opens it", nil)
        case (.lockedAfterFirstUnlock, nil): ("locked again; the passcode opens it", nil)
        }
    }

    /// What is wrong with the items, and what to do about it; nil where nothing is known to be.
    ///
    /// An older copy is whole: what a command for one secret says of it is said here too.
    var itemsTrouble: (message: String, hint: String)? {
        if itemsFault == .rolledBack {
            let lines = words(for: .rolledBack)
            return (lines.message, lines.hint ?? "touchstone recover")
        }
        guard !storeFaults.isEmpty else { return nil }
        return (
            "damaged: " + storeFaults.joined(separator: "; "),
            "touchstone repair shows what is wrong, by name"
        )
    }

    /// What does not work while the broker of system mode is away; nil while it answers, and where none is needed.
    var brokerTrouble: String? {
        guard let brokerFault else { return nil }
        return words(for: brokerFault).message
            + ": programs that connect now reach no items, and what demands the enrolled fingers is not released"
    }

    private func words(for fault: DriverCause) -> ErrorText.Lines {
        CauseText.lines(fault, nil) ?? ("\(fault.domain): \(fault.code)", "touchstone doctor")
    }
}

extension AuthenticationStatus {
    /// The sentence about counts that somebody put back.
    static let tamperedSentence =
        "the file that counts failed attempts was replaced by an older one; the newer counts hold"
}
