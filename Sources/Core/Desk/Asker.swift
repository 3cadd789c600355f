package import KeychainModel
import Synchronization

/// Who asks, looked at again whenever something is given to it or asked for it.
///
/// It has the name and the groups of the program that came as long as that process sends all requests itself and
/// runs that program. A process that executes another program, or lends its channel to another process, is an unknown
/// program from then on: whoever has the channel then may have had it before.
package final class Asker: Sendable {
    /// Whose methods it may call.
    package let role: AskerRole
    private let named: Caller
    private let namedGroups: EntitledGroups
    /// Whether the process still runs the program that came; nil when that program could not be told.
    private let isStill: (@Sendable () -> Bool)?
    private let unknown: Caller
    /// Why nobody could look which program came; nil where somebody did.
    private let fault: DriverCause?
    private let isUnknown = Atomic(false)

    /// Takes over what a door found; `isStill` looks again.
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
            accessGroup: unknownGroup
        )
    }

    /// Whether another program than the one that came has the channel, as of the last ``check()``.
    var isAnother: Bool { isUnknown.load(ordering: .acquiring) }

    /// Who it is, as of the last ``check()``.
    package var caller: Caller { isUnknown.load(ordering: .acquiring) ? unknown : named }

    /// The program that came; nil when it could not be told.
    var programThatCame: String? { named.program }

    /// Whether nobody could look which program came: then it is nobody's name that it goes by, for good.
    ///
    /// It gets no name later: what it ran when it came, and which program has the channel since, cannot be told any more.
    /// A program that connects anew is looked at anew.
    var isUntold: Bool { fault != nil }

    /// What it may use, as of the last ``check()``.
    ///
    /// - Throws: `errSecNotAvailable` where nobody could look which program it is. It is not taken for an unknown one, to
    ///   which its own items would seem not to be there.
    func groups() throws(KeychainError) -> EntitledGroups {
        if let fault { throw KeychainError(.notAvailable, cause: fault, remedy: .check) }
        return isUnknown.load(ordering: .acquiring)
            ? EntitledGroups(own: unknown.accessGroup, granted: []) : namedGroups
    }

    /// Looks whether it still runs the program that came.
    ///
    /// - Returns: false when it does not and did at the last check.
    func check() -> Bool {
        guard let isStill, !isUnknown.load(ordering: .acquiring) else { return true }
        return isStill() ? true : !becomesUnknown()
    }

    /// Looks whether the process that sent something is the one that came; 0 for one that is not told.
    ///
    /// - Returns: false when it is not, and was before.
    func check(sender: Int32) -> Bool {
        guard isStill != nil, sender != named.pid else { return true }
        return !becomesUnknown()
    }

    private func becomesUnknown() -> Bool { !isUnknown.exchange(true, ordering: .acquiringAndReleasing) }
}
