import Glibc
import Testing
import TouchstoneTesting

@Suite(
    "A daemon without XDG_RUNTIME_DIR",
    .serialized,
    .enabled(
        if: Programs.isBuilt && Programs.canChangeUser && access("/run", W_OK) == 0,
        "needs root, setpriv and /run"
    )
)
struct RuntimePlaceTests {
    /// A user ID that is not in use.
    private static let user: UInt32 = 61_957
    private static let directory = "/run/user/\(user)"
    private static let asUser = [
        Programs.setpriv, "--reuid=\(user)", "--regid=\(user)", "--clear-groups",
    ]

    private let home: TemporaryDirectory
    private let variables: [String: String]

    init() throws {
        home = try TemporaryDirectory(mode: 0o711)
        variables = ["HOME": home.path, "TOUCHSTONE_DAEMON": Programs.touchstoned, "PATH": "/usr/bin:/bin"]
        let configuration = home.appending(".config/touchstone")
        for path in [
            home.path, home.appending(".config"), configuration, home.appending(".local"),
            home.appending(".local/share"),
        ] {
            mkdir(path, 0o700)
            chown(path, Self.user, Self.user)
        }
        let file = try home.write(
            "test.system-bus-address = unix:path=/nonexistent\ntest.scrypt-log2-rounds = 10\nidle-exit = 60\n",
            to: ".config/touchstone/touchstoned.conf"
        )
        chown(file, Self.user, Self.user)
        chmod(file, 0o600)
    }

    /// Creates `/run/user/UID` while `body` runs.
    private static func withDirectory(_ body: () async throws -> Void) async throws {
        mkdir("/run/user", 0o755)
        mkdir(directory, 0o700)
        chown(directory, user, user)
        defer {
            for name in ["/touchstone/socket", "/touchstone/ssh-agent", "/touchstone/lock"] {
                unlink(directory + name)
            }
            rmdir(directory + "/touchstone")
            rmdir(directory)
        }
        try await body()
    }

    private func run(_ arguments: [String], _ more: [String: String] = [:], as wrapper: [String] = asUser)
        async throws
        -> Finished
    {
        try await Finished.running(
            wrapper + arguments,
            environment: variables.merging(more) { $1 }
        )
    }

    /// The daemon's process number, as reported by `touchstone status`.
    private func daemonProcess(_ more: [String: String] = [:]) async throws -> pid_t {
        let status = try await run([Programs.touchstone, "status", "--json"], more)
        let line = status.output.split(separator: "\n").first { $0.contains("daemonProcess") }
        let number = line?.split(separator: " ").last.flatMap { pid_t($0) }
        guard let number else { throw TestFailure.unexpected(status.output) }
        return number
    }

    @Test("cron, su and sudo find the daemon that a session's client started, and vice versa")
    func found() async throws {
        try await Self.withDirectory {
            let ofSession = try await daemonProcess(["XDG_RUNTIME_DIR": Self.directory])
            defer { kill(ofSession, SIGTERM) }
            #expect(access(Self.directory + "/touchstone/socket", F_OK) == 0)
            let ofCron = try await daemonProcess()
            #expect(ofCron == ofSession)
            let doctor = try await run([Programs.touchstone, "doctor"])
            #expect(
                doctor.output.contains("runtime directory: \(Self.directory); XDG_RUNTIME_DIR is not set")
            )
        }
    }

    @Test("without /run/user/UID the socket is beside the store, and is found after the login")
    func beforeLogin() async throws {
        let early = try await daemonProcess()
        defer { kill(early, SIGTERM) }
        #expect(access(home.appending(".local/share/touchstone/run/socket"), F_OK) == 0)
        let doctor = try await run([Programs.touchstone, "doctor"])
        #expect(doctor.output.contains("\(Self.directory) is not there; the socket is beside the store"))
        try await Self.withDirectory {
            let (ofSession, ofCron) = (
                try await daemonProcess(["XDG_RUNTIME_DIR": Self.directory]), try await daemonProcess()
            )
            #expect(ofSession == early && ofCron == early)
        }
    }

    @Test("a /run/user/UID accessible to others is not used, and doctor says why")
    func open() async throws {
        try await Self.withDirectory {
            chmod(Self.directory, 0o755)
            let process = try await daemonProcess()
            defer { kill(process, SIGTERM) }
            #expect(access(Self.directory + "/touchstone", F_OK) != 0)
            let doctor = try await run([Programs.touchstone, "doctor"])
            #expect(
                doctor.output.contains(
                    "warn  runtime directory: \(Self.directory) has mode 755 instead of 700"
                )
            )
        }
    }

    @Test(
        "another user's directory is refused by client, daemon and doctor, for a user and for root",
        arguments: [false, true]
    )
    func foreign(asRoot: Bool) async throws {
        try await Self.withDirectory {
            let wrapper =
                asRoot ? [] : [Programs.setpriv, "--reuid=61958", "--regid=61958", "--clear-groups"]
            chmod(Self.directory, 0o711)
            let more = ["XDG_RUNTIME_DIR": Self.directory]
            let reason = "\(Self.directory) belongs to user \(Self.user)"
            let client = try await run([Programs.touchstone, "status"], more, as: wrapper)
            #expect(client.status == 7)
            #expect(client.output.contains(reason))
            #expect(client.output.contains("hint: unset XDG_RUNTIME_DIR"))
            let daemon = try await run([Programs.touchstoned, "--foreground"], more, as: wrapper)
            #expect(daemon.status == 1)
            #expect(daemon.output.contains(reason))
            let doctor = try await run([Programs.touchstone, "doctor"], more, as: wrapper)
            #expect(doctor.output.contains("fail  runtime directory: \(reason)"))
            #expect(access(Self.directory + "/touchstone", F_OK) != 0, "nothing is made there")
        }
    }
}
