/// A signal of logind about a login session (`org.freedesktop.login1(5)`); sessions are named by their object paths.
enum SessionSignal: Sendable, Equatable {
    /// `SessionNew`, or a change of `LockedHint` without its value: the session's properties are unknown.
    case unknown(String)
    /// `SessionRemoved`
    case removed(String)
    /// `Lock`: the session's screen is asked to lock, which it may or may not announce by `LockedHint`.
    case lock(String)
    /// `PropertiesChanged` with `LockedHint`.
    case hint(String, isLocked: Bool)

    /// Parses a signal; nil for others and for malformed ones.
    init?(_ path: String, _ interface: String, _ member: String, _ arguments: [BusValue]) {
        switch (interface, member) {
        case (Login1.managerInterface, "SessionNew"), (Login1.managerInterface, "SessionRemoved"):
            guard arguments.count == 2, case .objectPath(let session) = arguments[1] else { return nil }
            self = member == "SessionNew" ? .unknown(session) : .removed(session)
        case (Login1.sessionInterface, "Lock"): self = .lock(path)
        case (propertiesInterface, "PropertiesChanged"):
            guard arguments.count == 3, arguments[0] == .string(Login1.sessionInterface) else { return nil }
            if let isLocked = arguments[1].property("LockedHint")?.truth {
                self = .hint(path, isLocked: isLocked)
            } else if arguments[2].texts?.contains("LockedHint") == true {
                self = .unknown(path)
            } else {
                return nil
            }
        default: return nil
        }
    }
}
