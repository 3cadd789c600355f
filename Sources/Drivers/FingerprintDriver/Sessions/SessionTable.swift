/// Why a user's keys should not stay in memory.
package enum Departure: String, Sendable, Equatable {
    /// The user's last unlocked screen was locked.
    case screenLocked = "the screen was locked"
    /// The user's last session ended, or the last one with a screen.
    case sessionEnded = "the session ended"
    /// The machine's lid was closed.
    case lidClosed = "the lid was closed"
    /// The machine is about to sleep.
    case suspend = "the machine sleeps"
}

/// The login sessions of one user: when the user has left the last of them, and which are active on their seats.
///
/// Sessions with a screen count before all others when the user leaves: as long as there are any, a session without one (a
/// console, ssh), which is never locked, keeps nothing open.
package struct SessionTable: Sendable {
    /// What is known of a session.
    package struct Session: Sendable, Equatable {
        /// Whether it has a screen, which can be locked (`Type` is `x11`, `wayland` or `mir`).
        package var hasScreen: Bool
        /// The property `LockedHint`.
        package var isLocked: Bool
        /// Whether it belongs to a seat (`Seat`); one over ssh does not.
        package var hasSeat: Bool
        /// The property `Active`: whether it is the one that its seat shows; without a seat logind reports true.
        package var isActive: Bool
        /// Whether the user has logged out of it and only processes are left (`State` is `closing`): nobody can switch back to it.
        package var isClosing: Bool
        /// The kernel's audit session (`Audit`); nil for none.
        package var login: UInt32?

        /// Describes a session.
        package init(
            hasScreen: Bool,
            isLocked: Bool = false,
            hasSeat: Bool = true,
            isActive: Bool = true,
            isClosing: Bool = false,
            login: UInt32? = nil
        ) {
            self.hasScreen = hasScreen
            self.isLocked = isLocked
            self.hasSeat = hasSeat
            self.isActive = isActive
            self.isClosing = isClosing
            self.login = login
        }

        /// Whether its seat shows another session.
        var isBehind: Bool { hasSeat && !isActive }

        fileprivate mutating func apply(_ change: Change) {
            if let isLocked = change.isLocked { self.isLocked = isLocked }
            if let isActive = change.isActive { self.isActive = isActive }
        }
    }

    /// What a signal says about a session; nil for what it does not mention.
    package struct Change: Sendable, Equatable {
        /// `LockedHint`.
        package var isLocked: Bool?
        /// `Active`.
        package var isActive: Bool?

        /// Describes a change.
        package init(isLocked: Bool? = nil, isActive: Bool? = nil) {
            self.isLocked = isLocked
            self.isActive = isActive
        }

        fileprivate mutating func add(_ later: Change) {
            isLocked = later.isLocked ?? isLocked
            isActive = later.isActive ?? isActive
        }
    }

    /// By object path.
    package private(set) var sessions: [String: Session] = [:]
    /// Sessions whose properties were requested, with what was announced meanwhile.
    private var requested: [String: Change] = [:]
    /// Whether a session's desktop has ever announced by `LockedHint` that its screen was locked.
    package private(set) var hasHeardLock = false

    /// Creates an empty table.
    package init() {}

    /// The properties of a session are requested now.
    package mutating func request(_ path: String) {
        if requested[path] == nil { requested[path] = Change() }
    }

    /// The properties of a session could not be read; what is known of it stays.
    package mutating func abandon(_ path: String) { requested[path] = nil }

    /// The properties of a session were received; nil for a session that ended, could not be read or is another user's.
    ///
    /// What a later signal announced wins.
    package mutating func receive(_ path: String, _ session: Session?) -> Departure? {
        // A session that was removed meanwhile is not requested any more.
        guard let announced = requested.removeValue(forKey: path) else { return nil }
        guard var session else { return change(.sessionEnded) { $0[path] = nil } }
        session.apply(announced)
        hasHeardLock = hasHeardLock || session.isLocked
        return change(.screenLocked) { $0[path] = session }
    }

    /// A session's screen was locked or unlocked, or its seat shows it or another one from now on.
    package mutating func announce(_ path: String, _ change: Change) -> Departure? {
        requested[path]?.add(change)
        if sessions[path] != nil, change.isLocked == true { hasHeardLock = true }
        return self.change(.screenLocked) { $0[path]?.apply(change) }
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

    /// The sessions that the user has not logged out of.
    var live: [Session] { sessions.values.filter { !$0.isClosing } }

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
