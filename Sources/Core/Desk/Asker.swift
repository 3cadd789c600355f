import KeychainModel
import Synchronization

/// Who is at the other end of one connection, asked again whenever something is given to it or asked for it.
///
/// It has the name and the groups of the program that connected as long as that process sends all requests itself and
/// runs that program. A process that executes another program, or lends its socket to another process, is an unknown
/// program from then on: whoever has the socket then may have had it before.
final class Peer: Sendable {
    private let named: Caller
    private let namedGroups: EntitledGroups
    private let program: PeerCredentials.Program?
    private let unknown: Caller
    private let isUnknown = Atomic(false)

    /// Takes over what was found at the connection.
    init(
        _ caller: Caller,
        groups: EntitledGroups,
        program: PeerCredentials.Program?,
        unknownGroup: AccessGroup
    ) {
        named = caller
        namedGroups = groups
        self.program = program
        unknown = Caller(
            uid: caller.uid,
            pid: caller.pid,
            processStart: caller.processStart,
            program: nil,
            accessGroup: unknownGroup
        )
    }

    /// Who it is, as of the last ``check()``.
    var caller: Caller { isUnknown.load(ordering: .acquiring) ? unknown : named }

    /// The program that connected; nil when it could not be told.
    var programThatConnected: String? { named.program }

    /// What it may use, as of the last ``check()``.
    var groups: EntitledGroups {
        isUnknown.load(ordering: .acquiring)
            ? EntitledGroups(own: unknown.accessGroup, granted: []) : namedGroups
    }

    /// Looks whether it still runs the program that connected.
    ///
    /// - Returns: false when it does not and did at the last check.
    func check() -> Bool {
        guard let program, !isUnknown.load(ordering: .acquiring) else { return true }
        return program.process.programFile == program.file ? true : !becomesUnknown()
    }

    /// Looks whether the process that sent something is the one that connected; 0 for one that is not told.
    ///
    /// - Returns: false when it is not, and was before.
    func check(sender: Int32) -> Bool {
        guard program != nil, sender != named.pid else { return true }
        return !becomesUnknown()
    }

    private func becomesUnknown() -> Bool { !isUnknown.exchange(true, ordering: .acquiringAndReleasing) }
}
