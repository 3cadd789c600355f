import Foundation
import Glibc

/// A program run as the lines of a systemd unit say, without systemd: user, mounts, limits, capabilities, system calls.
///
/// The file is the one that is shipped, so that a line which the program cannot live with is found by its tests. The lines are
/// applied by `unit-sandbox.py` beside this file, as one and the same process; one that it does not know ends the start. It
/// names those that only a service manager can do (control groups, restarts), each with its reason. Where a test has put files
/// of its own below `/tmp`, they stay to be seen.
package struct UnitSandbox: Sendable {
    /// What ``isPossible`` depends on.
    package static let needs = "needs root with CAP_SYS_ADMIN, python3, systemd-analyze and libseccomp"

    /// Where the units of system mode are, in the sources.
    package static let shippedUnits =
        (0..<5).reduce(URL(fileURLWithPath: #filePath)) { path, _ in path.deletingLastPathComponent() }
        .path + "/dist/system"

    private static let python = "/usr/bin/python3"
    private static let launcher =
        URL(fileURLWithPath: #filePath).deletingLastPathComponent().path + "/unit-sandbox.py"

    /// Whether there can be one: what a container may forbid is tried, once.
    package static let isPossible: Bool = {
        let programs = [python, "/usr/bin/systemd-analyze", "/usr/bin/env"]
        guard MachineNamespace.isPossible, programs.allSatisfy({ unsafe access($0, X_OK) == 0 }),
            let directory = try? TemporaryDirectory(),
            let shipped = try? String(
                contentsOfFile: "\(shippedUnits)/touchstoned@.service",
                encoding: .utf8
            ),
            // All but what needs the accounts and directories of a machine.
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
    /// What `%i` stands for.
    package let instance: String

    /// A sandbox of these lines.
    package init(_ text: String, instance: String = "") {
        self.text = text
        self.instance = instance
    }

    /// The sandbox of a unit as it is shipped.
    package init(shipped name: String, instance: String = "") throws {
        let text = try String(contentsOfFile: "\(Self.shippedUnits)/\(name)", encoding: .utf8)
        self.init(text, instance: instance)
    }

    /// A command that runs another one in the sandbox, for root.
    ///
    /// - Parameters:
    ///   - directory: for the unit's file.
    ///   - listens: standard input is the socket that the program gets, as in sd_listen_fds(3).
    /// - Returns: what goes before the command, whose program is named by its path.
    /// - Throws: where the unit's file cannot be written.
    package func wrapper(in directory: TemporaryDirectory, listens: Bool = false) throws -> [String] {
        let unit = try directory.write(text, to: "unit-\(UUID().uuidString).service")
        var options = listens ? ["--listen"] : []
        for kept in ["\(FileManager.default.temporaryDirectory.path)/touchstone-*", "/tmp/.X11-unix"] {
            options += ["--keep", kept]
        }
        return [Self.python, "-B", Self.launcher, unit, instance] + options + ["--"]
    }
}
