import Foundation
import Glibc
import KeychainModel
import ScriptedDaemon
import Testing

@testable import KeychainClient

@Suite("Clients in system mode")
struct SystemModeTests {
    private let home: TemporaryHome
    private let mode: SystemMode
    private let uid = geteuid()

    /// The machine's directories, in a temporary home: the socket's directory exists, the socket does not.
    init() throws {
        home = try TemporaryHome()
        for directory in ["/system", "/system/\(geteuid())"] {
            try FileManager.default.createDirectory(
                atPath: home.path + directory,
                withIntermediateDirectories: false,
                attributes: [.posixPermissions: 0o755]
            )
        }
        try "root:x:0:0:root:/root:/bin/bash\ntouchstone:x:\(geteuid()):1::/:/bin/false\n"
            .write(toFile: home.path + "/users", atomically: true, encoding: .utf8)
        mode = SystemMode(
            directory: home.path + "/system",
            onlyFile: home.path + "/system-only",
            directoryOwner: geteuid(),
            users: home.path + "/users"
        )
    }

    /// A system daemon that answers everything with success.
    private func daemon(
        _ script: @escaping ScriptedDaemon.Script = { peer in
            try peer.welcome()
            while true { try peer.reply(to: peer.next()) }
        }
    ) throws -> ScriptedDaemon {
        let daemon = try ScriptedDaemon(home, script: script)
        guard rename(home.layout.socket, mode.layout.socket) == 0 else { throw POSIXError(.EIO) }
        return daemon
    }

    /// A keychain whose per-user daemon is a script that leaves a marker file; the tests' environment is ignored.
    private func keychain() throws -> RemoteKeychain {
        let script = try home.script("echo start >> \"$TOUCHSTONE_HOME/starts\"")
        return RemoteKeychain(layout: home.layout, daemon: .program(script), system: mode)
    }

    private var wasDaemonStarted: Bool { access(home.path + "/starts", F_OK) == 0 }

    private func makeStaleSocket() throws { close(try ScriptedDaemon.bind(mode.layout.socket)) }

    private func forbidOthers() throws {
        try "".write(toFile: mode.onlyFile, atomically: true, encoding: .utf8)
    }

    @Test("system mode has the machine's paths")
    func paths() {
        let machine = SystemMode()
        #expect(machine.layout == .ofSystem(uid: uid))
        #expect(machine.onlyFile == "/etc/touchstone/system-only")
        #expect(machine.users == "/etc/passwd")
        #expect(machine.directoryOwner == 0)
    }

    @Test(
        "system mode applies if its socket exists and no variable overrides it, and always with system-only",
        arguments: [false, true],
        [false, true]
    )
    func inForce(hasSocket: Bool, isOnly: Bool) throws {
        if hasSocket { try makeStaleSocket() }
        if isOnly { try forbidOthers() }
        #expect(mode.isInForce { _ in nil } == (hasSocket || isOnly))
        for name in ["TOUCHSTONE_HOME", "TOUCHSTONE_DAEMON"] {
            #expect(mode.isInForce { $0 == name ? "/t" : nil } == isOnly)
        }
        // Other variables change nothing.
        for name in ["XDG_RUNTIME_DIR", "HOME", "XDG_DATA_HOME"] {
            #expect(mode.isInForce { $0 == name ? "/t" : nil } == (hasSocket || isOnly))
        }
    }

    @Test("the system daemon serves clients, and no other daemon is started")
    func serves() throws {
        let daemon = try daemon()
        let keychain = try keychain()
        try keychain.lock()
        try keychain.separate().lock()
        #expect(daemon.connections == 2)
        #expect(!wasDaemonStarted)
    }

    @Test("a client does not start a silent system daemon; the error names its unit")
    func notListening() throws {
        try makeStaleSocket()
        let error = try #require(throws: KeychainError.self) { try keychain().lock() }
        #expect(error.status == .notAvailable)
        #expect(error.cause == DriverCause(.systemDaemonSilent, detail: "touchstoned@\(uid).service"))
        #expect(!wasDaemonStarted)
    }

    @Test(
        "a system daemon that hangs up before its greeting is tried once more, then reported as silent"
    )
    func hangsUp() throws {
        let daemon = try daemon { _ in }
        let error = try #require(throws: KeychainError.self) { try keychain().lock() }
        #expect(error.cause?.known == .systemDaemonSilent)
        #expect(daemon.connections == 2)
        #expect(!wasDaemonStarted)
    }

    @Test(
        "with system-only a missing socket is an error, and no per-user daemon is started"
    )
    func onlyWithoutSocket() throws {
        try forbidOthers()
        for _ in 0..<2 {
            let error = try #require(throws: KeychainError.self) { try keychain().lock() }
            #expect(error.status == .notAvailable)
            #expect(error.cause == DriverCause(.systemSocketMissing, detail: "touchstoned@\(uid).socket"))
            #expect(!wasDaemonStarted)
            // The second time without the directories.
            rmdir(mode.layout.runtimeDirectory)
            rmdir(mode.directory)
        }
    }

    @Test("without a system socket and system-only the user's own daemon is started")
    func perUser() throws {
        #expect(throws: KeychainError(.notAvailable)) { try keychain().lock() }
        #expect(wasDaemonStarted)
    }

    /// Why others than root could have put a socket in the directory.
    enum Fault: CaseIterable, Sendable {
        case group, world, sticky, foreign, link, file
    }

    @Test(
        "a socket in a directory that others than root can write to is refused",
        arguments: Fault.allCases,
        [false, true]
    )
    func unsafeDirectory(fault: Fault, isParent: Bool) throws {
        let daemon = try daemon()
        let path = isParent ? mode.directory : mode.layout.runtimeDirectory
        var mode = mode
        switch fault {
        case .group: chmod(path, 0o775)
        case .world: chmod(path, 0o757)
        case .sticky: chmod(path, 0o1777)
        case .foreign: mode.directoryOwner = uid + 1
        case .link:
            rename(path, path + ".real")
            symlink(path + ".real", path)
        case .file:
            // The socket cannot be found below it, so system-only makes system mode apply.
            try forbidOthers()
            rename(path, path + ".real")
            try "".write(toFile: path, atomically: true, encoding: .utf8)
        }
        let keychain = RemoteKeychain(layout: home.layout, daemon: .none, system: mode)
        let error = try #require(throws: KeychainError.self) { try keychain.lock() }
        #expect(error.status == .notAvailable)
        #expect(error.cause?.known == .systemDirectory)
        #expect(daemon.connections == 0)
        chmod(path, 0o755)
    }

    @Test("only root and the daemon's account are trusted as listeners")
    func peers() throws {
        func accountIs(_ line: String) throws {
            try line.write(toFile: mode.users, atomically: true, encoding: .utf8)
        }
        try accountIs("nottouchstone:x:7:7::/:/bin/false\ntouchstone:x:64801:1::/:/bin/false\n")
        #expect(mode.trusts(peer: 0))
        #expect(mode.trusts(peer: 64_801))
        #expect(!mode.trusts(peer: 7))
        #expect(!mode.trusts(peer: 64_802))
        for text in [
            "", "touchstone\n", "touchstone:x:\n", "touchstone:x:-1:1::/:\n", "touchstone2:x:9:9::/:\n",
        ] {
            try accountIs(text)
            #expect(mode.trusts(peer: 0))
            #expect(!mode.trusts(peer: 9))
            #expect(!mode.trusts(peer: .max))
        }
    }

    @Test(
        "a socket on which another user listens is refused, even the client's own user",
        .enabled(if: geteuid() == 0 && ForeignListener.isPossible, "needs root, setpriv and perl")
    )
    func foreignListener() throws {
        let listener = try ForeignListener(home, uid: 65534)
        defer { listener.stop() }
        #expect(rename(home.layout.socket, mode.layout.socket) == 0)
        let error = try #require(throws: KeychainError.self) { try keychain().lock() }
        #expect(error.cause == DriverCause(.foreignDaemon, detail: "uid 65534"))
        #expect(!wasDaemonStarted)
    }

    @Test("a running process changes to the system daemon once system mode is turned on")
    func turnedOn() throws {
        let script: ScriptedDaemon.Script = { peer in
            try peer.welcome()
            while true { try peer.reply(to: peer.next()) }
        }
        let own = try ScriptedDaemon(home, script: script)
        let keychain = RemoteKeychain(layout: home.layout, daemon: .none, system: mode)
        try keychain.lock()
        #expect(own.connections == 1)
        own.stop()
        let ofSystem = try daemon(script)
        // The closed connection may fail one call.
        try? keychain.lock()
        try keychain.lock()
        #expect(ofSystem.connections == 1)
        #expect(own.connections == 1)
    }
}
