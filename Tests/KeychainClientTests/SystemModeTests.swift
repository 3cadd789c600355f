import Foundation
import Glibc
import KeychainModel
import ScriptedDaemon
import Testing

@testable import KeychainClient

@Suite("The system's daemon, as a client finds it")
struct SystemModeTests {
    private let home: TemporaryHome
    private let mode: SystemMode
    private let uid = geteuid()

    /// A machine's places in a home: the socket's directory is there, the socket is not.
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

    /// A daemon of the system that answers everything with success.
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

    /// A keychain whose own daemon is a script that leaves a mark; what the environment of the tests says does not count.
    private func keychain() throws -> RemoteKeychain {
        let script = try home.script("echo start >> \"$TOUCHSTONE_HOME/starts\"")
        return RemoteKeychain(layout: home.layout, daemon: .program(script), system: mode)
    }

    private var wasDaemonStarted: Bool { access(home.path + "/starts", F_OK) == 0 }

    private func makeStaleSocket() throws { close(try ScriptedDaemon.bind(mode.layout.socket)) }

    private func forbidOthers() throws {
        try "".write(toFile: mode.onlyFile, atomically: true, encoding: .utf8)
    }

    @Test("has the paths of the machine")
    func paths() {
        let machine = SystemMode()
        #expect(machine.layout == .ofSystem(uid: uid))
        #expect(machine.onlyFile == "/etc/touchstone/system-only")
        #expect(machine.users == "/etc/passwd")
        #expect(machine.directoryOwner == 0)
    }

    @Test(
        "is the one that counts where it has a socket, unless a variable names another; with system-only always",
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
        // What else an environment may say changes nothing.
        for name in ["XDG_RUNTIME_DIR", "HOME", "XDG_DATA_HOME"] {
            #expect(mode.isInForce { $0 == name ? "/t" : nil } == (hasSocket || isOnly))
        }
    }

    @Test("serves, and none is started")
    func serves() throws {
        let daemon = try daemon()
        let keychain = try keychain()
        try keychain.lock()
        try keychain.separate().lock()
        #expect(daemon.connections == 2)
        #expect(!wasDaemonStarted)
    }

    @Test("is not started by a client where it does not listen; the error names the unit that says why")
    func notListening() throws {
        try makeStaleSocket()
        let error = try #require(throws: KeychainError.self) { try keychain().lock() }
        #expect(error.status == .notAvailable)
        #expect(error.cause == DriverCause(.systemDaemonSilent, detail: "touchstoned@\(uid).service"))
        #expect(!wasDaemonStarted)
    }

    @Test(
        "is tried once more where it hangs up before its greeting, and then told as one that does not answer"
    )
    func hangsUp() throws {
        let daemon = try daemon { _ in }
        let error = try #require(throws: KeychainError.self) { try keychain().lock() }
        #expect(error.cause?.known == .systemDaemonSilent)
        #expect(daemon.connections == 2)
        #expect(!wasDaemonStarted)
    }

    @Test(
        "is the only one with system-only: without a socket there is an error, and nobody's own daemon is started"
    )
    func onlyWithoutSocket() throws {
        try forbidOthers()
        for _ in 0..<2 {
            let error = try #require(throws: KeychainError.self) { try keychain().lock() }
            #expect(error.status == .notAvailable)
            #expect(error.cause == DriverCause(.systemSocketMissing, detail: "touchstoned@\(uid).socket"))
            #expect(!wasDaemonStarted)
            // Once more without any directory.
            rmdir(mode.layout.runtimeDirectory)
            rmdir(mode.directory)
        }
    }

    @Test("is left alone without its socket: the user's own daemon is started as ever")
    func perUser() throws {
        #expect(throws: KeychainError(.notAvailable)) { try keychain().lock() }
        #expect(wasDaemonStarted)
    }

    /// What makes a directory one that others could have put a socket in.
    enum Fault: CaseIterable, Sendable {
        case group, world, sticky, foreign, link, file
    }

    @Test(
        "is not believed in a directory that others than root could have written to",
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
            // The socket's name is not to be found below it, and it counts all the same.
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

    @Test("is believed where root or its account listens, and nobody else")
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
        "is refused where another user listens on its socket, the client's own user included",
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

    @Test("takes over from the user's own daemon in a process that runs on, once it is turned on")
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
        // The connection that hung up may be met once more.
        try? keychain.lock()
        try keychain.lock()
        #expect(ofSystem.connections == 1)
        #expect(own.connections == 1)
    }
}
