/// Why a user's keys should not stay in memory.
package enum Departure: String, Sendable, Equatable {
    /// The user's last unlocked screen was locked.
    case screenLocked = "the screen was locked"
    /// The user's last session ended, or the last one with a screen.
    case sessionEnded = "the session ended"
    /// The machine is about to sleep.
    case suspend = "the machine sleeps"
}

/// The login sessions of one user, and when the user has left the last of them.
///
/// Sessions with a screen count before all others: as long as there are any, a session without one (a console, ssh), which is
/// never locked, keeps nothing open.
package struct SessionTable: Sendable {
    /// What is known of a session.
    package struct Session: Sendable, Equatable {
        /// Whether it has a screen, which can be locked (`Type` is `x11`, `wayland` or `mir`).
        package var hasScreen: Bool
        /// The property `LockedHint`.
        package var isLocked: Bool

        /// Describes a session.
        package init(hasScreen: Bool, isLocked: Bool = false) {
            self.hasScreen = hasScreen
            self.isLocked = isLocked
        }
    }

    /// By object path.
    private var sessions: [String: Session] = [:]
    /// Sessions whose properties were requested, with the value of `LockedHint` that was announced meanwhile.
    private var requested: [String: Bool?] = [:]

    /// Creates an empty table.
    package init() {}

    /// The properties of a session are requested now.
    package mutating func request(_ path: String) {
        if requested[path] == nil { requested.updateValue(nil, forKey: path) }
    }

    /// The properties of a session were received; nil for a session that ended, could not be read or is another user's.
    ///
    /// `LockedHint` of a later signal wins.
    package mutating func receive(_ path: String, _ session: Session?) -> Departure? {
        // A session that was removed meanwhile is not requested any more.
        guard let announced = requested.removeValue(forKey: path) else { return nil }
        guard var session else { return change(.sessionEnded) { $0[path] = nil } }
        if let announced { session.isLocked = announced }
        return change(.screenLocked) { $0[path] = session }
    }

    /// A session's screen was locked or unlocked.
    package mutating func hint(_ path: String, isLocked: Bool) -> Departure? {
        if requested[path] != nil { requested[path] = .some(isLocked) }
        return change(.screenLocked) { $0[path]?.isLocked = isLocked }
    }

    /// A session's screen is asked to lock, also if it is not going to announce that it is.
    package func lock(_ path: String) -> Departure? {
        guard let asked = sessions[path] else { return nil }
        var others = sessions
        others[path] = nil
        let screens = others.values.filter(\.hasScreen)
        let counted = screens.isEmpty && !asked.hasScreen ? Array(others.values) : screens
        return counted.contains { !$0.isLocked } ? nil : .screenLocked
    }

    /// A session ended.
    package mutating func remove(_ path: String) -> Departure? {
        requested[path] = nil
        return change(.sessionEnded) { $0[path] = nil }
    }

    /// These are all sessions of the user; signals about others may have been missed.
    package mutating func keep(_ paths: [String]) -> Departure? {
        change(.sessionEnded) { [requested] sessions in
            sessions = sessions.filter { paths.contains($0.key) || requested[$0.key] != nil }
        }
    }

    /// Makes a change; `reason` if the user left by it.
    private mutating func change(_ reason: Departure, _ body: (inout [String: Session]) -> Void) -> Departure?
    {
        let before = sessions
        body(&sessions)
        let wasAtScreen = before.values.contains { $0.hasScreen && !$0.isLocked }
        let isAtScreen = sessions.values.contains { $0.hasScreen && !$0.isLocked }
        if wasAtScreen { return isAtScreen ? nil : reason }
        guard !before.values.contains(where: \.hasScreen) else { return nil }
        let wasOpen = before.values.contains { !$0.isLocked }
        let isOpen = sessions.values.contains { !$0.isLocked }
        return wasOpen && !isOpen ? reason : nil
    }
}
