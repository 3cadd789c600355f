import Foundation
import KeychainModel
import ScriptedDaemon
import Synchronization
import Testing

@testable import KeychainClient

@Suite("Starting the daemon")
struct DaemonStartTests {
    private let home: TemporaryHome

    init() throws { home = try TemporaryHome() }

    @Test("a missing program gives a clear error")
    func missing() {
        let keychain = RemoteKeychain(layout: home.layout, daemon: .program(home.path + "/no-such-program"))
        let error = #expect(throws: KeychainError(.notAvailable)) { try keychain.status() }
        #expect(error?.cause == DriverCause(domain: "touchstone", code: "daemonMissing"))
    }

    @Test("the error has the daemon's own message, sanitised")
    func refusal() throws {
        let script = try home.script("printf 'error: no \\033[2Jmemory\\nhint: buy some\\n' >&2; exit 3")
        let keychain = RemoteKeychain(layout: home.layout, daemon: .program(script))
        let error = #expect(throws: KeychainError(.notAvailable)) { try keychain.status() }
        #expect(error?.cause == DriverCause(domain: "touchstoned", code: "exit 3: no [2Jmemory"))
    }

    @Test("a program that is killed, or exits successfully without a daemon, is an error")
    func noDaemon() throws {
        let killed = try home.script("kill -9 $$")
        let error = #expect(throws: KeychainError(.notAvailable)) {
            try RemoteKeychain(layout: home.layout, daemon: .program(killed)).status()
        }
        #expect(error?.cause?.code == "signal 9")
        let idle = try home.script("exit 0")
        let other = #expect(throws: KeychainError(.notAvailable)) {
            try RemoteKeychain(layout: home.layout, daemon: .program(idle)).status()
        }
        #expect(other?.cause?.code == "daemonDoesNotListen")
    }

    @Test("the daemon's environment has the directories and a fixed PATH, and nothing else")
    func environment() throws {
        let script = try home.script("[ \"$1\" = --detach ] && env > \"$TOUCHSTONE_HOME/env\"; exit 1")
        let keychain = RemoteKeychain(layout: home.layout, daemon: .program(script))
        #expect(throws: KeychainError.self) { try keychain.status() }
        let lines = try String(contentsOfFile: home.path + "/env", encoding: .utf8).split(separator: "\n")
        let names = Set(lines.map { $0.prefix { $0 != "=" } })
        // The shell adds variables of its own.
        #expect(
            names.subtracting(["PWD", "SHLVL", "_", "OLDPWD"]).isSubset(of: [
                "TOUCHSTONE_HOME", "PATH", "HOME",
            ])
        )
        #expect(lines.contains("PATH=\(DaemonEnvironment.path)"))
        #expect(lines.contains { $0 == "TOUCHSTONE_HOME=\(home.path)" })
    }

    @Test("all waiting threads connect once the daemon listens")
    func start() throws {
        let script = try home.script(
            """
            echo start >> "$TOUCHSTONE_HOME/starts"
            until [ -S "$TOUCHSTONE_HOME/run/socket" ]; do read -t 1 line < /dev/null || :; done
            """
        )
        let daemon = Mutex<ScriptedDaemon?>(nil)
        let home = home
        Thread.detachNewThread {
            // Polled: the condition is outside this process.
            while !FileManager.default.fileExists(atPath: home.path + "/starts") {
                Thread.sleep(forTimeInterval: 0.001)
            }
            daemon.withLock { daemon in
                daemon = try? ScriptedDaemon(home) { peer in
                    try peer.welcome()
                    while true { try peer.reply(to: peer.next()) }
                }
            }
        }
        let keychain = RemoteKeychain(layout: home.layout, daemon: .program(script))
        let failures = Mutex<[KeychainError]>([])
        inThreads(4) { _ in
            do throws(KeychainError) {
                try keychain.lock()
            } catch {
                failures.withLock { $0.append(error) }
            }
        }
        #expect(failures.withLock { $0 }.isEmpty)
        #expect(try String(contentsOfFile: home.path + "/starts", encoding: .utf8) == "start\n")
        #expect(daemon.withLock { $0?.connections } == 1)
    }

    @Test("a client whose connection the former daemon closed silently starts a new daemon")
    func formerDaemon() throws {
        let former = try ScriptedDaemon(home) { _ in }
        let script = try home.script("echo start >> \"$TOUCHSTONE_HOME/starts\"")
        let keychain = RemoteKeychain(layout: home.layout, daemon: .program(script))
        let error = #expect(throws: KeychainError(.notAvailable)) { try keychain.lock() }
        #expect(error?.cause?.code == "daemonDoesNotListen")
        #expect(try String(contentsOfFile: home.path + "/starts", encoding: .utf8) == "start\n")
        #expect(former.connections == 2)
    }

    @Test("a daemon that stops in the middle of its greeting is not replaced by a new one")
    func brokenGreeting() throws {
        let daemon = try ScriptedDaemon(home) { $0.send(octets: [0, 0, 1]) }
        let keychain = RemoteKeychain(layout: home.layout, daemon: .program(home.path + "/no-such-program"))
        let error = #expect(throws: KeychainError(.notAvailable)) { try keychain.lock() }
        #expect(error?.cause?.code.hasPrefix("daemonRefused") == true)
        _ = daemon
    }

    @Test("the environment for the daemon describes every possible layout")
    func variables() throws {
        let environments: [[String: String]] = [
            ["TOUCHSTONE_HOME": "/t"],
            ["HOME": "/home/u"],
            ["HOME": "/home/u", "XDG_RUNTIME_DIR": "/run/user/1"],
            ["XDG_DATA_HOME": "/d", "XDG_CONFIG_HOME": "/c", "XDG_RUNTIME_DIR": "/r"],
        ]
        for environment in environments {
            let layout = try #require(Layout { environment[$0] })
            let variables = try #require(DaemonEnvironment.variables(for: layout))
            #expect(Layout { variables[$0] } == layout)
        }
        let odd = Layout(runtimeDirectory: "/a", dataDirectory: "/b", configurationFile: "/c")
        #expect(DaemonEnvironment.variables(for: odd) == nil)
    }
}
