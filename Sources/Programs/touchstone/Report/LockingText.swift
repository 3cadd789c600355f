import KeychainModel

/// What locks the keychain, in words for `status` and `doctor`.
extension LockingStatus {
    /// The triggers of the settings.
    var sentence: String {
        var parts: [String] = []
        if triggers.screen {
            parts.append("with the screen" + (screenSaver.map { " (\($0))" } ?? ""))
        }
        if triggers.sleep { parts.append("before sleep") }
        if triggers.lid { parts.append("with the lid") }
        if let idle = triggers.idle {
            parts.append("after \(DateText.duration(seconds: idle.components.seconds)) without use")
        }
        return parts.isEmpty ? "only by touchstone lock (lock-on = never)" : parts.joined(separator: ", ")
    }

    /// Why the triggers do not work; nil if they do.
    var trouble: String? {
        guard let sessionsFault else { return nil }
        let unheard = [
            triggers.screen && screenSaver == nil ? "a locked screen" : nil, triggers.sleep ? "sleep" : nil,
            triggers.lid ? "a closed lid" : nil,
        ].compactMap(\.self)
        guard !unheard.isEmpty else { return nil }
        let verb = unheard.count == 1 ? "does" : "do"
        return "\(unheard.joined(separator: " and ")) \(verb) not lock it: \(sessionsFault)"
    }

    /// What can be done about ``trouble``.
    static let remedy = "start systemd-logind, or lock by time: lock-on = idle 15 min in touchstoned.conf"

    /// What `lock --after` left; nil if nothing.
    var countdown: String? { secondsLeft.map { "in \(DateText.duration(seconds: $0)), by lock --after" } }
}
