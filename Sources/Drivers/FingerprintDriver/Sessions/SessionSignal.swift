import MessageBus

/// A signal of logind about a login session (`org.freedesktop.login1(5)`); sessions are named by their object paths.
enum SessionSignal: Sendable, Equatable {
    /// `SessionNew`, or a change of `LockedHint` or `Active` without its value: the session's properties are unknown.
    case unknown(String)
    /// `SessionRemoved`
    case removed(String)
    /// `Lock`: the session's screen is asked to lock, which it may or may not announce by `LockedHint`.
    case lock(String)
    /// `PropertiesChanged` with `LockedHint`, `Active` or both.
    case changed(String, SessionTable.Change)

    /// Parses a signal; nil for others and for malformed ones.
    init?(_ path: String, _ interface: String, _ member: String, _ arguments: [BusValue]) {
        switch (interface, member) {
        case (Login1.managerInterface, "SessionNew"), (Login1.managerInterface, "SessionRemoved"):
            guard arguments.count == 2, case .objectPath(let session) = arguments[1] else { return nil }
            self = member == "SessionNew" ? .unknown(session) : .removed(session)
        case (Login1.sessionInterface, "Lock"): self = .lock(path)
        case (propertiesInterface, "PropertiesChanged"):
            guard arguments.count == 3, arguments[0] == .string(Login1.sessionInterface) else { return nil }
            let change = SessionTable.Change(
                isLocked: arguments[1].property("LockedHint")?.truth,
                isActive: arguments[1].property("Active")?.truth
            )
            let unknown = arguments[2].texts ?? []
            if unknown.contains("LockedHint") || unknown.contains("Active") {
                self = .unknown(path)
            } else if change != SessionTable.Change() {
                self = .changed(path, change)
            } else {
                return nil
            }
        default: return nil
        }
    }
}
