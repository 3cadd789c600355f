import Desk
import KeychainModel

/// The door of the Secret Service, by the set-gid group of its program, which has no members.
enum SecretsDoorGroup {
    static let name = "touchstone-door"

    /// The ID of the group; nil if there is none: a door built from source is then recognised by its path.
    static func find(_ parts: DaemonParts) -> UInt32? { parts.doorGroup ?? UserDatabase().group(name)?.gid }
}

/// The agents that draw the prompts of a daemon that runs under a dedicated account.
struct Agents: Sendable {
    /// The set-gid group of the agent's program, which has no members.
    static let groupName = "touchstone-agent"

    /// The registered agents.
    let roster: AgentRoster
    /// The ID of their group.
    let groupNumber: UInt32

    /// An agent looks for a restarted daemon each second (`TouchstoneAgent/AgentService`).
    private static let agentArrival = Duration.milliseconds(2500)

    /// The agents of a daemon; nil in per-user mode, where it draws the prompts itself.
    ///
    /// - Throws: ``StartError`` if the group does not exist.
    static func find(
        _ mode: DaemonMode,
        _ settings: Configuration,
        _ parts: DaemonParts
    ) throws(StartError) -> Agents? {
        var number = parts.agentGroup
        // A pinentry program set by a test is started by the daemon itself.
        if number == nil, parts.pinentry == nil { number = try installedGroup(mode) }
        guard let number else { return nil }
        let admission = AgentAdmission(
            pinentryProgram: parts.agentPinentry ?? settings.pinentryProgram,
            isForTests: parts.areForTests
        )
        let roster = AgentRoster(admission, trust: settings.trust, arrival: agentArrival)
        return Agents(roster: roster, groupNumber: number)
    }

    private static func installedGroup(_ mode: DaemonMode) throws(StartError) -> UInt32? {
        guard mode == .system else { return nil }
        guard let group = UserDatabase().group(groupName) else {
            throw StartError(
                "there is no group \(groupName), which identifies the program that draws prompts",
                hint: "make it: systemd-sysusers /usr/lib/sysusers.d/touchstone.conf"
            )
        }
        return group.gid
    }
}
