import CBOR
import Glibc
import KeychainModel
import Testing
import TouchstoneTesting

@Suite("The daemon's life cycle", .enabled(if: Programs.isBuilt, "touchstoned is not built"))
struct LifecycleTests {
    @Test("the daemon serves until SIGTERM and removes its socket")
    func servesAndEnds() async throws {
        let daemon = try await RunningDaemon(DaemonHome())
        let client = try await daemon.client()
        #expect(try await client.call(.status, EmptyBody()).status == .success)
        kill(daemon.process.processID, SIGTERM)
        let status = try await daemon.process.waitUntilEnd()
        #expect(status == 0)
        #expect(access(daemon.home.layout.socket, F_OK) != 0)
        #expect(try await client.isClosed())
    }

    @Test("the memory of code that only the start needed is given back, and requests are served after that")
    func givesCodeBack() async throws {
        let daemon = try await RunningDaemon(DaemonHome(["idle-exit = 0"]))
        let client = try await daemon.client()
        func size(_ name: String) throws -> Int {
            let status = try String(contentsOf: "/proc/\(daemon.process.processID)/status")
            let line = status.split(separator: "\n").first { $0.hasPrefix("\(name):") }
            guard let words = line?.split(whereSeparator: { " \t".contains($0) }), words.count > 1,
                let size = Int(words[1])
            else { throw TestFailure.unexpected(status) }
            return size
        }
        // A pass halves it; the most it ever was is the start's.
        try await Deadline.wait(for: "a pass") { try size("VmRSS") < size("VmHWM") * 3 / 4 ? true : nil }
        #expect(try await client.call(.status, EmptyBody()).status == .success)
    }

    @Test("a second daemon in the foreground is refused")
    func second() async throws {
        let daemon = try await RunningDaemon(DaemonHome())
        let second = try await Finished.running([Programs.touchstoned], environment: daemon.home.environment)
        #expect(second.status == 1)
        let lines = second.output.split(separator: "\n")
        #expect(lines.count == 2)
        #expect(lines.first?.hasPrefix("error: ") == true)
        #expect(lines.last?.hasPrefix("hint: ") == true)
    }

    @Test("--detach returns once the daemon listens, and succeeds if one is already running")
    func detached() async throws {
        let home = try DaemonHome(["idle-exit = 0"])
        let first = try await Finished.running(
            [Programs.touchstoned, "--detach"],
            environment: home.environment
        )
        #expect(first.status == 0)
        #expect(first.output.isEmpty)
        let client = try await home.client()
        let reply = try await client.call(.status, EmptyBody())
        guard case .array(let fields)? = reply.body, fields.count > 15,
            case .unsigned(let number) = fields[15], let process = pid_t(exactly: number)
        else { throw TestFailure.unexpected("\(reply)") }
        defer { kill(process, SIGKILL) }
        let second = try await Finished.running(
            [Programs.touchstoned, "--detach"],
            environment: home.environment
        )
        #expect(second.status == 0)
        try await Deadline.wait(for: "the daemon's line in its log") {
            try String(contentsOf: home.layout.dataDirectory + "/daemon.log").contains("listening")
                ? true : nil
        }
        kill(process, SIGTERM)
        #expect(try await client.isClosed())
        try await Deadline.wait(for: "the end of the daemon") { ChildProcess.hasEnded(process) ? true : nil }
    }

    @Test("without clients the daemon ends after the idle time")
    func idle() async throws {
        let home = try DaemonHome(["idle-exit = 1"])
        let finished = try await Finished.running(
            [Programs.touchstoned, "--foreground"],
            environment: home.environment
        )
        #expect(finished.status == 0)
        #expect(finished.output.contains("listening"))
        #expect(access(home.layout.socket, F_OK) != 0)
    }

    @Test("a daemon starts after a crash of the previous one")
    func crash() async throws {
        let home = try DaemonHome()
        let first = try await RunningDaemon(home)
        first.process.stop()
        let second = try await RunningDaemon(home)
        #expect(try await second.client().call(.status, EmptyBody()).status == .success)
    }

    @Test(
        "--check-configuration reports errors without starting the daemon",
        arguments: [
            ("colour = red", "colour is not a setting"),
            ("idle-exit = soon", "idle-exit must be a whole number"),
            ("idle-exit", "not of the form key = value"),
            ("pinentry-program = pinentry", "pinentry-program must be an absolute path"),
            ("biometry = maybe", "biometry must be on or off"),
            ("log-level = loud", "log-level must be one of"),
            ("lock-on = screen, lids", "lock-on must be never, or a list of screen, sleep, lid and idle"),
            ("biometry = maybe\r", "biometry must be on or off"),
        ]
    )
    func configuration(line: String, message: String) async throws {
        let home = try DaemonHome(["# a comment", line])
        let finished = try await Finished.running(
            [Programs.touchstoned, "--check-configuration"],
            environment: home.environment
        )
        #expect(finished.status == 1)
        #expect(finished.output.contains("line 4: \(message)"))
        #expect(finished.output.contains("\nhint: "))
        #expect(access(home.layout.runtimeDirectory, F_OK) != 0)
    }

    @Test(
        "unknown and conflicting options are wrong usage",
        arguments: [
            ["--bogus"], ["--detach", "--foreground"], ["serve"], ["--detach", "--detach"],
        ]
    )
    func usage(options: [String]) async throws {
        let home = try DaemonHome()
        let finished = try await Finished.running(
            [Programs.touchstoned] + options,
            environment: home.environment
        )
        #expect(finished.status == 64)
        #expect(finished.output.hasPrefix("error: "))
        #expect(finished.output.contains("\nhint: touchstoned ["))
        #expect(access(home.layout.runtimeDirectory, F_OK) != 0)
    }

    @Test(
        "help and version are printed without starting the daemon",
        arguments: ["--help", "-h", "--version"]
    )
    func help(option: String) async throws {
        let home = try DaemonHome()
        let finished = try await Finished.running(
            [Programs.touchstoned, option],
            environment: home.environment
        )
        #expect(finished.status == 0)
        #expect(
            finished.output.contains(
                option == "--version" ? ProductVersion.text + "\n" : "Usage: touchstoned ["
            )
        )
        #expect(access(home.layout.runtimeDirectory, F_OK) != 0)
    }

    @Test(
        "a valid configuration is accepted with any line ends",
        arguments: [
            ["log-level = debug  # more", "biometry = off", ""],
            ["log-level = debug  # more\r", "\r", "biometry = off\r"],
        ]
    )
    func goodConfiguration(lines: [String]) async throws {
        let home = try DaemonHome(lines)
        let finished = try await Finished.running(
            [Programs.touchstoned, "--check-configuration"],
            environment: home.environment
        )
        #expect(finished.status == 0)
    }
}
