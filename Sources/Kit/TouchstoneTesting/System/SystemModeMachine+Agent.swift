import Foundation
import Glibc

/// The agent, which draws boxes in users' sessions, and sessions on terminals.
extension SystemModeMachine {
    /// The agent's installed path.
    package static let agent = programs + "/touchstone-agent"

    /// Whether a set-gid program gets its group here; a container may forbid that (no-new-privileges).
    package static let canSetGroups: Bool = {
        guard isPossible else { return false }
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/unshare")
        let (group, user) = (Group.agent, Account.alice.uid)
        process.arguments = [
            "--mount", "/bin/sh", "-c",
            """
            mount -t tmpfs tmpfs /run && cp /usr/bin/id /run/id && chown 0:\(group) /run/id && chmod 2755 /run/id &&
            [ "$(setpriv --reuid=\(user) --regid=\(user) --clear-groups /run/id -g)" = \(group) ]
            """,
        ]
        process.standardError = FileHandle.nullDevice
        guard (try? process.run()) != nil else { return false }
        process.waitUntilExit()
        return process.terminationStatus == 0
    }()

    /// The installed path of the door of the Secret Service.
    package static let door = programs + "/touchstone-secrets"

    /// Installs the agent as packages do, owned by root and set-gid, or with wrong permissions.
    package func installAgent(mode: UInt32 = 0o2755, group: UInt32 = Group.agent) throws {
        try install(Programs.agent, at: Self.agent, mode, group)
    }

    /// Installs the door of the Secret Service as packages do, owned by root and set-gid, or with wrong permissions.
    package func installDoor(mode: UInt32 = 0o2755, group: UInt32 = Group.door) throws {
        try install(Programs.directory + "/touchstone-secrets", at: Self.door, mode, group)
    }

    private func install(_ program: String, at place: String, _ mode: UInt32, _ group: UInt32) throws {
        let path = outside(place)
        if unsafe access(path, F_OK) != 0 {
            try FileManager.default.copyItem(atPath: program, toPath: path)
        }
        // The group first: changing it clears the set-gid bit.
        guard unsafe chown(path, 0, group) == 0, unsafe chmod(path, mode) == 0 else {
            throw TestKitError.system("chown \(place)", errno: errno)
        }
    }

    /// Waits until a user's daemon has an agent for programs with these variables.
    package func waitForAgent(of user: Account, environment: [String: String]) async throws {
        try await Deadline.wait(for: "the agent of \(user.name)") {
            let status = try await run(
                [Self.command, "status", "--json"],
                as: user,
                environment: environment
            )
            return status.output.replacing(" ", with: "").contains("\"promptFault\":null") ? true : nil
        }
    }

    /// Runs a user's shell script in a session of its own, with a controlling terminal.
    package func startSession(
        _ script: String,
        on terminal: PseudoTerminal,
        as user: Account,
        environment: [String: String] = [:],
        beginsLogin: Bool = false
    ) async throws -> ChildProcess {
        guard unsafe chown(terminal.name, user.uid, user.uid) == 0 else {
            throw TestKitError.system("chown \(terminal.name)", errno: errno)
        }
        // The first terminal that a session leader opens becomes its controlling terminal.
        return try await start(
            ["/bin/sh", "-c", "exec 0<>'\(terminal.name)' 1>&0 2>&0; \(script)"],
            as: user,
            environment: ["TERM": "xterm", "PATH": "\(Self.programs):/usr/bin:/bin"]
                .merging(environment) { $1 },
            beginsLogin: beginsLogin,
            log: directory.appending("session.log")
        )
    }
}
