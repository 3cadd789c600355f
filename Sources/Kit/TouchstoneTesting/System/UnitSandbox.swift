import Foundation
import Glibc

/// Runs a program as the lines of a systemd unit say, without systemd: user, mounts, limits, capabilities, system
/// calls.
///
/// It uses the shipped unit file, so that the tests find a line that breaks the program. `unit-sandbox.py` beside this
/// file applies the lines and then executes the program in the same process; an unknown line ends the start. The script
/// lists the lines that only a service manager can apply (control groups, restarts), each with its reason. Files that a
/// test has put below `/tmp` stay visible.
package struct UnitSandbox: Sendable {
    /// The requirements of ``isPossible``.
    package static let needs = "needs root with CAP_SYS_ADMIN, python3, systemd-analyze and libseccomp"

    /// The directory of system mode's units in the sources.
    package static let shippedUnits =
        (0..<5).reduce(URL(fileURLWithPath: #filePath)) { path, _ in path.deletingLastPathComponent() }
        .path + "/dist/system"

    private static let python = "/usr/bin/python3"
    private static let launcher =
        URL(fileURLWithPath: #filePath).deletingLastPathComponent().path + "/unit-sandbox.py"

    /// Whether a sandbox is possible here; tried once, because a container may forbid it.
    package static let isPossible: Bool = {
        let programs = [python, "/usr/bin/systemd-analyze", "/usr/bin/env"]
        guard MachineNamespace.isPossible, programs.allSatisfy({ unsafe access($0, X_OK) == 0 }),
            let directory = try? TemporaryDirectory(),
            let shipped = try? String(
                contentsOfFile: "\(shippedUnits)/touchstoned@.service",
                encoding: .utf8
            ),
            // The unit without the lines that need the accounts and directories of a machine.
            let unit = try? directory.write(
                shipped.split(separator: "\n").filter { line in
                    ![
                        "User=", "Group=", "SupplementaryGroups=", "StateDirectory", "TemporaryFileSystem=",
                        "BindPaths=",
                    ]
                    .contains { line.hasPrefix($0) }
                }.joined(separator: "\n") + "\n",
                to: "trial.service"
            )
        else { return false }
        let process = Process()
        process.executableURL = URL(fileURLWithPath: python)
        process.arguments = ["-B", launcher, unit, "", "--", "/usr/bin/env"]
        process.standardOutput = FileHandle.nullDevice
        process.standardError = FileHandle.nullDevice
        guard (try? process.run()) != nil else { return false }
        process.waitUntilExit()
        return process.terminationStatus == 0
    }()

    /// The unit's lines.
    package let text: String
    /// The value of `%i`.
    package let instance: String

    /// Creates a sandbox of these lines.
    package init(_ text: String, instance: String = "") {
        self.text = text
        self.instance = instance
    }

    /// Creates the sandbox of a shipped unit, which allows some more system calls.
    package init(shipped name: String, instance: String = "", andCalls calls: [String] = []) throws {
        let text = try String(contentsOfFile: "\(Self.shippedUnits)/\(name)", encoding: .utf8)
        let more = calls.map { "SystemCallFilter=\($0)\n" }.joined()
        self.init(more.isEmpty ? text : text + "\n[Service]\n" + more, instance: instance)
    }

    /// A command prefix that runs a command in the sandbox, for root.
    ///
    /// - Parameters:
    ///   - directory: where the unit's file is written.
    ///   - listens: passes standard input to the program as its listening socket, as in sd_listen_fds(3).
    /// - Returns: the words before the command, whose program must be a path.
    /// - Throws: an error when the unit's file cannot be written.
    package func wrapper(in directory: TemporaryDirectory, listens: Bool = false) throws -> [String] {
        let unit = try directory.write(text, to: "unit-\(UUID().uuidString).service")
        var options = listens ? ["--listen"] : []
        for kept in ["\(FileManager.default.temporaryDirectory.path)/touchstone-*", "/tmp/.X11-unix"] {
            options += ["--keep", kept]
        }
        return [Self.python, "-B", Self.launcher, unit, instance] + options + ["--"]
    }
}
