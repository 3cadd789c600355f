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
        "the daemon keeps the socket that the service manager passed",
        .enabled(if: access("/usr/bin/python3", X_OK) == 0, "python3 is not installed")
    )
    func activation() async throws {
        let home = try DaemonHome(nil)
        let script = """
            import os, socket, sys
            listener = socket.socket(socket.AF_UNIX)
            listener.bind(sys.argv[1])
            listener.listen(16)
            if listener.fileno() != 3:
                os.dup2(listener.fileno(), 3)
            os.set_inheritable(3, True)
            os.environ.update(LISTEN_PID=str(os.getpid()), LISTEN_FDS="1", LD_PRELOAD=sys.argv[2])
            os.execv(sys.argv[3], sys.argv[3:])
            """
        _ = try home.directory.makeDirectory("run")
        let daemon = try await RunningDaemon(
            home,
            through: [
                "/usr/bin/python3", "-c", script, home.layout.socket, try library(in: home),
            ],
            program: Programs.installedTouchstoned
        )
        let client = RemoteKeychain(layout: home.layout, daemon: .none)
        #expect(try client.status().daemonProcess == Int64(daemon.process.processID))
        let maps = try String(contentsOf: "/proc/\(daemon.process.processID)/maps")
        #expect(!maps.contains("libpreloaded.so"))
    }
}
