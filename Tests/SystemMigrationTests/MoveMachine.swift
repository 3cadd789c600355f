import Foundation
import Glibc
import KeychainModel
import Testing
import TouchstoneTesting

/// `touchstone system` itself, run as root in a mount namespace.
///
/// Accounts and `/var/lib` belong to the test, and nothing of the machine changes.
final class MoveMachine: Sendable {
    /// Whether a process may have its own mounts and be traced; everything the tests need is tried once.
    static let isPossible: Bool = {
        let programs = [
            "/usr/bin/strace", "/usr/bin/unshare", "/usr/bin/setpriv", "/usr/libexec",
            "/usr/lib/systemd/system",
        ]
        guard geteuid() == 0, programs.allSatisfy({ access($0, X_OK) == 0 }),
            let home = try? TemporaryDirectory(mode: 0o755), (try? home.write("", to: "file")) != nil
        else { return false }
        let trial = Process()
        trial.executableURL = URL(fileURLWithPath: "/usr/bin/unshare")
        trial.arguments = [
            "--mount", "--propagation", "private", "/bin/sh", "-ec",
            """
            chown \(user):\(user) "$0/file"
            mount --bind "$0/file" /etc/passwd; mount --bind "$0" /var/lib; mount -t tmpfs -o mode=755 run /run
            \(parts)
            strace -qq -o /dev/null -e trace=mkdir -e inject=mkdir:error=ENOSPC:when=1 true
            strace -qq -o /dev/null setpriv --reuid=\(user) --regid=\(user) --clear-groups true
            """,
            home.path,
        ]
        trial.standardOutput = FileHandle.nullDevice
        trial.standardError = FileHandle.nullDevice
        guard (try? trial.run()) != nil else { return false }
        trial.waitUntilExit()
        return trial.terminationStatus == 0
    }()

    static let user: UInt32 = 4_001
    static let keeper: UInt32 = 4_002
    static let agents: UInt32 = 4_003
    static let files = ["keybag", "device.key", "attempts", "items.sqlite", "daemon.log"]

    let home: TemporaryDirectory
    var own: String { home.appending("anna/.local/share/touchstone") }
    var system: String { home.appending("lib/touchstone") }
    var kept: String { "\(system)/\(Self.user)" }
    /// A broker's answer for a process that has ended: the map `{"refused": "no process"}`.
    private static let noProcess: [UInt8] =
        [0xA1, 0x67] + Array("refused".utf8) + [0x6A] + Array("no process".utf8)
    /// The broker that is queried before anything is moved.
    private let broker: ScriptedBroker

    init() throws {
        home = try TemporaryDirectory(mode: 0o755)
        broker = try ScriptedBroker(
            at: try home.makeDirectory("broker", mode: 0o755) + "/socket",
            backlog: 16,
            ScriptedBroker.answering(Self.noProcess)
        )
        _ = try home.write(
            """
            root:x:0:0::/root:/bin/sh
            anna:x:\(Self.user):\(Self.user)::\(home.appending("anna")):/bin/sh
            touchstone:x:\(Self.keeper):\(Self.keeper)::/nonexistent:/usr/sbin/nologin

            """,
            to: "passwd"
        )
        _ = try home.write(
            """
            root:x:0:
            anna:x:\(Self.user):
            touchstone:x:\(Self.keeper):
            touchstone-agent:x:\(Self.agents):
            touchstone-door:x:4004:

            """,
            to: "group"
        )
    }

    /// What `touchstone system enable` checks before it moves anything, as empty files.
    static let parts = """
        mount -t tmpfs -o mode=755 parts /usr/libexec; mount -t tmpfs -o mode=755 units /usr/lib/systemd/system
        mkdir /usr/libexec/touchstone; cd /usr/libexec/touchstone
        touch touchstoned touchstone-broker touchstone-agent; chmod 755 *; chgrp \(agents) touchstone-agent
        chmod 2755 touchstone-agent; cd /usr/lib/systemd/system
        for unit in touchstoned@ touchstone-broker; do touch $unit.service $unit.socket; done; cd /
        """

    /// A file's content, distinct for each name.
    static func content(_ name: String) -> String { String(repeating: "\(name) ", count: 700) }

    /// Restores the user's own keychain, with none in system mode.
    func reset() throws {
        for name in ["anna", "lib"] { try? FileManager.default.removeItem(atPath: home.appending(name)) }
        _ = try home.makeDirectory("lib", mode: 0o755)
        try make(own, owner: Self.user)
        var path = home.appending("anna")
        for part in ["", "/.local", "/share"] {
            path += part
            #expect(chown(path, Self.user, Self.user) == 0 && chmod(path, 0o755) == 0)
        }
    }

    /// Restores a keychain in system mode, opened and checked.
    func resetInSystemMode() throws {
        try reset()
        for name in Self.files { try FileManager.default.removeItem(atPath: own + "/" + name) }
        try mark()
        try makeSystemDirectory()
        try make(kept, owner: Self.keeper)
    }

    /// Deactivates the user's own keychain.
    func mark() throws {
        try put(
            MovedKeychain.text(destination: "/var/lib/touchstone/\(Self.user)"),
            own + "/moved",
            Self.user
        )
    }

    /// Creates the directory of all users' keychains.
    func makeSystemDirectory() throws {
        try FileManager.default.createDirectory(
            atPath: system,
            withIntermediateDirectories: true,
            attributes: [.posixPermissions: 0o755]
        )
    }

    /// Writes a file of the keychain into the user's directory.
    func put(_ name: String) throws { try put(Self.content(name), own + "/" + name, Self.user) }

    /// Creates a keychain of `owner`.
    func make(_ path: String, owner: UInt32) throws {
        try FileManager.default.createDirectory(
            atPath: path,
            withIntermediateDirectories: true,
            attributes: [.posixPermissions: 0o700]
        )
        guard chown(path, owner, owner) == 0 else { throw POSIXError(.EIO) }
        for name in Self.files { try put(Self.content(name), path + "/" + name, owner) }
    }

    private func put(_ text: String, _ path: String, _ owner: UInt32) throws {
        try text.write(toFile: path, atomically: false, encoding: .utf8)
        guard chmod(path, 0o600) == 0, chown(path, owner, owner) == 0 else { throw POSIXError(.EIO) }
    }

    /// Runs the command, under `tracer` if given; returns waitpid(2)'s status and the output.
    func run(
        _ step: String,
        _ options: [String] = ["--yes", "--later"],
        tracer: [String] = [],
        parts: String = parts,
        before: String = ":"
    ) async throws -> (status: Int32, text: String) {
        let log = home.appending("log")
        try? FileManager.default.removeItem(atPath: log)
        let mounts = """
            mount --bind "$0/passwd" /etc/passwd; mount --bind "$0/group" /etc/group; mount --bind "$0/lib" /var/lib
            mount -t tmpfs -o mode=755 run /run
            mkdir /run/touchstone-broker; mount --bind "$0/broker" /run/touchstone-broker
            \(parts)
            \(before)
            exec "$@"
            """
        let process = try await ChildProcess.start(
            "/usr/bin/unshare",
            ["--mount", "--propagation", "private", "/bin/sh", "-ec", mounts, home.path] + tracer + [
                Programs.touchstone, "system", step, "--user", "anna",
            ] + options,
            environment: ["PATH": "/usr/bin:/bin:/usr/sbin:/sbin"],
            log: log
        )
        let status = try await process.waitUntilEnd()
        return (status, (try? String(contentsOfFile: log, encoding: .utf8)) ?? "")
    }

    /// Whether a directory has all files of the keychain, unchanged and accessible only to their owner.
    func isWhole(_ path: String, owner: UInt32) -> Bool {
        Self.files.allSatisfy { name in
            var status = stat()
            return stat(path + "/" + name, &status) == 0 && status.st_uid == owner
                && status.st_mode & 0o7777 == 0o600
                && (try? String(contentsOfFile: path + "/" + name, encoding: .utf8)) == Self.content(name)
        }
    }

    /// The current faults; empty if one whole keychain is active, or none is and everything is kept.
    var faults: [String] {
        let names = PrivateMove.names(own)
        let ownCounts = !names.contains("moved") && !names.isDisjoint(with: Self.files)
        let ownOpen = !names.contains("moved")
        let keptCounts = access(kept, F_OK) == 0
        var faults: [String] = []
        if ownOpen, keptCounts { faults.append("two keychains are in force") }
        if ownCounts, !isWhole(own, owner: Self.user) {
            faults.append("the user's is in force and not whole")
        }
        if ownOpen, !ownCounts { faults.append("an empty one is in force") }
        if keptCounts, !isWhole(kept, owner: Self.keeper) {
            faults.append("that of system mode is not whole")
        }
        let copies = [
            isWhole(own, owner: Self.user), isWhole(kept, owner: Self.keeper),
            isWhole("\(system)/\(Self.user).old", owner: Self.keeper),
            isWhole("\(system)/\(Self.user).back", owner: Self.keeper),
        ]
        if !copies.contains(true) { faults.append("the keychain is lost") }
        return faults
    }
}
