package import KeychainModel
import Synchronization

/// The identity of a caller, checked again before each request, prompt and result.
///
/// The caller has its program's name and groups as long as the original process sends all requests itself and runs that
/// program. A process that executes another program, or shares its channel with another process, is an unknown program
/// from then on: the process that has the channel now may have had it before.
package final class Asker: Sendable {
    /// The role, which decides the methods it may call.
    package let role: AskerRole
    private let named: Caller
    private let namedGroups: EntitledGroups
    /// Whether the process still runs the original program; nil if that program could not be identified.
    private let isStill: (@Sendable () -> Bool)?
    private let unknown: Caller
    /// Why the program could not be looked up; nil if it could.
    private let fault: DriverCause?
    private let isUnknown = Atomic(false)

    /// Creates the identity from what the door found; `isStill` checks it again.
    init(
        _ caller: Caller,
        role: AskerRole,
        groups: EntitledGroups,
        unknownGroup: AccessGroup,
        fault: DriverCause?,
        isStill: (@Sendable () -> Bool)?
    ) {
        self.role = role
        named = caller
        namedGroups = groups
        self.fault = fault
        self.isStill = isStill
        unknown = Caller(
            uid: caller.uid,
            pid: caller.pid,
            processStart: caller.processStart,
            program: nil,
            accessGroup: unknownGroup,
            keyDoor: caller.keyDoor
        )
    }

    /// Whether another program has the channel, as of the last ``check()``.
    var isAnother: Bool { isUnknown.load(ordering: .acquiring) }

    /// The caller's identity, as of the last ``check()``.
    package var caller: Caller { isUnknown.load(ordering: .acquiring) ? unknown : named }

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
        return isUnknown.load(ordering: .acquiring)
            ? EntitledGroups(own: unknown.accessGroup, granted: []) : namedGroups
    }

    /// Checks whether the process still runs the original program.
    ///
    /// - Returns: false if it no longer does, the first time this is seen.
    func check() -> Bool {
        guard let isStill, !isUnknown.load(ordering: .acquiring) else { return true }
        return isStill() ? true : !becomesUnknown()
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
