import Foundation
import Glibc
import KeychainClient
import KeychainModel
import Testing
import TouchstoneTesting

@Suite(
    "Starting an installed daemon directly with a hostile environment",
    .enabled(if: Programs.isBuilt, "touchstoned is not built"),
    .enabled(if: geteuid() == 0, "only root can look into the daemon")
)
struct CleanStartTests {
    private static var machine: String {
        #if arch(arm64)
            "aarch64"
        #else
            "x86_64"
        #endif
    }

    /// A library that does nothing, loaded by name.
    private func library(in home: DaemonHome) throws -> String {
        let path = home.directory.appending("libpreloaded.so")
        try FileManager.default.copyItem(
            at: URL(fileURLWithPath: "/lib/\(Self.machine)-linux-gnu/libutil.so.1").resolvingSymlinksInPath(),
            to: URL(fileURLWithPath: path)
        )
        return path
    }

    @Test("a preloaded library is removed, and arguments, name and process number are kept")
    func preload() async throws {
        for program in [Programs.installedTouchstoned, Programs.touchstoned] {
            let isInstalled = program == Programs.installedTouchstoned
            let home = try DaemonHome(isInstalled ? nil : [])
            let library = try library(in: home)
            let daemon = try await RunningDaemon(
                home,
                program: program,
                environment: [
                    "LD_PRELOAD": library, "LD_LIBRARY_PATH": home.directory.path,
                    "GLIBC_TUNABLES": "glibc.malloc.perturb=1", "TSS2_LOG": "all+TRACE",
                ]
            )
            let process = daemon.process.processID
            let maps = try String(contentsOf: "/proc/\(process)/maps")
            // Control: the daemon for tests keeps it.
            #expect(maps.contains("libpreloaded.so") == !isInstalled)
            let variables = try String(contentsOf: "/proc/\(process)/environ")
            #expect(variables.contains("LD_PRELOAD") == !isInstalled)
            #expect(try String(contentsOf: "/proc/\(process)/cmdline") == "\(program)\0--foreground\0")
            // Not "exe", after the executed link; programs that look for daemons in proc(5) use this name.
            #expect(try String(contentsOf: "/proc/\(process)/comm").hasPrefix("touchstoned"))
            let status = try RemoteKeychain(layout: home.layout, daemon: .none).status()
            #expect(status.daemonProcess == Int64(process))
        }
    }

    @Test(
        "the daemon keeps the sockets that the service manager passed, told apart by their names",
        .enabled(if: access("/usr/bin/python3", X_OK) == 0, "python3 is not installed")
    )
    func activation() async throws {
        let home = try DaemonHome(nil)
        let script = """
            import fcntl, os, socket, sys
            listeners = []
            # The agent's first: the daemon must not take it for the other one.
            for number, path in enumerate([sys.argv[2], sys.argv[1]]):
                listener = socket.socket(socket.AF_UNIX)
                listener.bind(path)
                listener.listen(16)
                listeners.append(fcntl.fcntl(listener.fileno(), fcntl.F_DUPFD, 10))
            for number, descriptor in enumerate(listeners):
                os.dup2(descriptor, 3 + number, inheritable=True)
                os.close(descriptor)
            os.environ.update(LISTEN_PID=str(os.getpid()), LISTEN_FDS="2", LD_PRELOAD=sys.argv[3])
            os.execv(sys.argv[4], sys.argv[4:])
            """
        _ = try home.directory.makeDirectory("run")
        let daemon = try await RunningDaemon(
            home,
            through: [
                "/usr/bin/python3", "-c", script, home.layout.socket, home.layout.agentSocket,
                try library(in: home),
            ],
            program: Programs.installedTouchstoned
        )
        let client = RemoteKeychain(layout: home.layout, daemon: .none)
        #expect(try client.status().daemonProcess == Int64(daemon.process.processID))
        let maps = try String(contentsOf: "/proc/\(daemon.process.processID)/maps")
        #expect(!maps.contains("libpreloaded.so"))
        // SSH_AGENTC_REQUEST_IDENTITIES; without a keychain the agent refuses.
        let agent = try UnixSocket.connect(to: home.layout.agentSocket)
        defer { close(agent) }
        let request: [UInt8] = [0, 0, 0, 1, 11]
        #expect(fcntl(agent, F_SETFL, 0) == 0 && write(agent, request, 5) == 5)
        var answer = [UInt8](repeating: 0, count: 5)
        let count = recv(agent, &answer, 5, CInt(MSG_WAITALL))
        #expect(count == 5 && answer == [0, 0, 0, 1, 5], "\(count) \(answer)")
    }
}
