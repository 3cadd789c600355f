import Desk
import KeychainModel

/// Who draws the boxes of a daemon that runs under an account of its own.
struct Agents: Sendable {
    /// The group that the program of agents sets, and that no user is in.
    static let groupName = "touchstone-agent"

    /// Those that are there.
    let roster: AgentRoster
    /// The number of their group.
    let groupNumber: UInt32

    /// Those of a daemon; nil in per-user mode, where it draws the boxes itself.
    ///
    /// - Throws: ``StartError`` where the system does not know the group.
    static func find(
        _ mode: DaemonMode,
        _ settings: Configuration,
        _ parts: DaemonParts
    ) throws(StartError) -> Agents? {
        var number = parts.agentGroup
        // The program that a test names draws for the daemon itself.
        if number == nil, parts.pinentry == nil { number = try installedGroup(mode) }
        guard let number else { return nil }
        let admission = AgentAdmission(
            pinentryProgram: parts.agentPinentry ?? settings.pinentryProgram,
            isForTests: parts.areForTests
        )
        return Agents(roster: AgentRoster(admission), groupNumber: number)
    }

    private static func installedGroup(_ mode: DaemonMode) throws(StartError) -> UInt32? {
        guard mode == .system else { return nil }
        guard let group = UserDatabase().group(groupName) else {
            throw StartError(
                "there is no group \(groupName), by which the program that draws prompts is known",
                hint: "make it: systemd-sysusers /usr/lib/sysusers.d/touchstone.conf"
            )
        }
        return group.gid
    }
}
