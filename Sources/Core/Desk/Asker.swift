package import KeychainModel
import SecretMemory
import Synchronization

/// The identity of a caller, checked again before each request, prompt and result.
///
/// The caller has its program's name and groups as long as the original process sends all requests itself and runs that
/// program. A process that executes another program, or shares its channel with another process, is an unknown program
/// from then on: the process that has the channel now may have had it before.
package final class Asker: Sendable {
    private let ownRole: AskerRole
    /// Whether it may ask for other programs.
    let mayRepresent: Bool
    private let isDoor = Atomic(false)
    /// The program for which it asks, if it is a door.
    private let represented = Guarded<Asker?>(nil)
    private let named: Caller
    private let namedGroups: EntitledGroups
    /// The file of its program, for a door that asks for it; nil if that could not be identified.
    let file: ProgramFile?
    /// Whether the process still runs the original program; nil if that program could not be identified.
    private let isStill: (@Sendable () -> Bool)?
    private let unknown: Caller
    /// Why the program could not be looked up; nil if it could.
    private let fault: DriverCause?
    /// Determines what started the program, once: later its parents may have ended.
    private let findStarters: @Sendable () -> String
    private let foundStarters = Guarded<String?>(nil)
    private let isUnknown = Atomic(false)

    /// Creates the identity from what the door found; `isStill` checks it again.
    init(
        _ caller: Caller,
        role: AskerRole,
        groups: EntitledGroups,
        unknownGroup: AccessGroup,
        fault: DriverCause?,
        mayRepresent: Bool = false,
        file: ProgramFile? = nil,
        isStill: (@Sendable () -> Bool)?,
        startedBy: @escaping @Sendable () -> String
    ) {
        ownRole = role
        self.mayRepresent = mayRepresent
        named = caller
        namedGroups = groups
        self.fault = fault
        self.file = file
        self.isStill = isStill
        findStarters = startedBy
        unknown = Caller(
            uid: caller.uid,
            pid: caller.pid,
            processStart: caller.processStart,
            program: nil,
            accessGroup: unknownGroup,
            door: caller.door
        )
    }

    /// The role, which decides the methods it may call.
    package var role: AskerRole { isDoor.load(ordering: .acquiring) ? .door : ownRole }

    /// Asks for this program from now on, as the door said.
    ///
    /// - Returns: false if it may not, or asks for a program already: a connection is one program's.
    func represent(_ program: Asker) -> Bool {
        guard mayRepresent, !isAnother else { return false }
        let isFirst = represented.withLock { represented in
            guard represented == nil else { return false }
            represented = program
            return true
        }
        if isFirst { isDoor.store(true, ordering: .releasing) }
        return isFirst
    }

    private var program: Asker? {
        isDoor.load(ordering: .acquiring) ? represented.withLock(\.self) : nil
    }

    /// Whether another program has the channel, as of the last ``check()``.
    var isAnother: Bool { isUnknown.load(ordering: .acquiring) }

    /// The caller's identity, as of the last ``check()``.
    package var caller: Caller {
        isUnknown.load(ordering: .acquiring) ? unknown : program?.caller ?? named
    }

    /// The caller with what started its program, for prompts and records.
    package var callerWithStarters: Caller {
        if let program, !isAnother { return program.callerWithStarters }
        var caller = caller
        guard !isAnother else { return caller }
        if let found = foundStarters.withLock(\.self) {
            caller.startedBy = found
        } else {
            // It reads files: two at once find the same.
            let found = findStarters()
            foundStarters.withLock { $0 = found }
            caller.startedBy = found
        }
        return caller
    }

    /// The original program; nil if it could not be identified.
    var programThatCame: String? { named.program }

    /// Whether the program could not be looked up at the start: the caller has no program's name, permanently.
    ///
    /// It gets no name later: which program it ran then, and which program has had the channel since, can no longer be
    /// determined. A new connection is looked up again.
    var isUntold: Bool { fault != nil }

    /// The groups the caller may use, as of the last ``check()``.
    ///
    /// - Throws: `errSecNotAvailable` if the program could not be looked up. Treating it as an unknown program would make
    ///   its own items appear to be missing.
    func groups() throws(KeychainError) -> EntitledGroups {
        if let fault { throw KeychainError(.notAvailable, cause: fault, remedy: .check) }
        if role == .door, !isAnother { return EntitledGroups(own: .secretService, granted: []) }
        return isUnknown.load(ordering: .acquiring)
            ? EntitledGroups(own: unknown.accessGroup, granted: []) : namedGroups
    }

    /// Checks whether the process still runs the original program, and so does that for which it asks.
    ///
    /// - Returns: false if it no longer does, the first time this is seen.
    func check() -> Bool {
        guard let isStill, !isUnknown.load(ordering: .acquiring) else { return program?.check() ?? true }
        return isStill() ? program?.check() ?? true : !becomesUnknown()
    }

    /// Checks whether the process that sent a request is the original one.
    ///
    /// - Returns: false if it is another process, the first time this is seen.
    func check(sender: Int32) -> Bool {
        guard isStill != nil, sender != named.pid else { return true }
        return !becomesUnknown()
    }

    private func becomesUnknown() -> Bool { !isUnknown.exchange(true, ordering: .acquiringAndReleasing) }
}
