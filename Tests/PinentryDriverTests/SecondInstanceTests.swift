import Glibc
import KeychainModel
import SecretMemory
import Testing
import TouchstoneTesting

@testable import PinentryDriver

@Suite("Terminals that only look like the user's")
struct SecondInstanceTests {
    @Test(
        "only /dev/pts/N, consoles and serial lines are paths of a terminal",
        arguments: [
            ("/dev/pts/0", true), ("/dev/pts/1234", true), ("/dev/tty1", true), ("/dev/tty63", true),
            ("/dev/ttyS0", true), ("/dev/ttyAMA0", true), ("/dev/ttyUSB10", true),
            ("", false), ("/dev/tty", false), ("/dev/console", false), ("/dev/ptmx", false),
            ("/dev/pts/ptmx", false),
            ("/dev/pts/", false), ("/dev/pts/-1", false), ("/dev/pts/0/", false), ("/dev/pts//0", false),
            ("/dev/pts/./0", false), ("/dev/pts/../pts/0", false), ("/dev//pts/0", false),
            ("//dev/pts/0", false),
            ("/dev/shm/d/pts/0", false), ("/dev/shm/pts/0", false), ("/dev/shm/0", false),
            ("/dev/shm/ttyS0", false),
            ("/dev/fd/0", false), ("/dev/stdin", false), ("/proc/self/fd/0", false), ("/dev/pts/0 ", false),
            ("/dev/pts/0\n", false), ("/dev/pts/\u{661}", false), ("/dev/ttyprintk", false),
            ("/dev/tty/1", false),
            ("/dev/ttyS", false), ("/dev/ttyS/0", false), ("/dev/pts/99999999", false),
            ("/tmp/dev/pts/0", false),
            ("dev/pts/0", false), ("/DEV/pts/0", false),
        ]
    )
    func paths(path: String, isUsable: Bool) {
        #expect(TerminalPath.isUsable(path) == isUsable)
        #expect((PromptPlace(PromptOrigin(terminal: path)).terminal == path) == isUsable)
    }

    @Test("a link to a terminal is refused, twenty times of twenty, wherever it is")
    func links() async throws {
        let terminal = try PseudoTerminal()
        let number = terminal.name.dropFirst("/dev/pts/".count)
        let directory = "/dev/shm/touchstone-test-\(getpid())-\(number)"
        #expect(unsafe mkdir(directory, 0o700) == 0)
        defer {
            unlink("\(directory)/pts")
            unlink("\(directory)/\(number)")
            rmdir(directory)
        }
        #expect(unsafe symlink("/dev/pts", "\(directory)/pts") == 0)
        #expect(unsafe symlink(terminal.name, "\(directory)/\(number)") == 0)
        let scripted = try ScriptedPinentry(["GETPIN": "printf 'D a\\nOK\\n'"])
        let prompter = PinentryPrompter(program: .testing(scripted.path))
        for attempt in 0..<20 {
            let path = attempt.isMultiple(of: 2) ? "\(directory)/pts/\(number)" : "\(directory)/\(number)"
            let origin = PromptOrigin(terminal: path)
            await #expect(throws: PromptError(.notInteractive)) {
                try await Answer(prompter, .unlock(), at: origin)
            }
        }
        #expect(scripted.processIdentifier == nil)
    }

    /// Where a client's controlling terminal is.
    enum Place: CaseIterable, Sendable { case first, second }

    @Test(
        "a client on a terminal of another devpts instance has no prompt on the one of the same number",
        .enabled(if: SecondInstance.isPossible, "this machine lets no test mount")
    )
    func sameNumber() async throws {
        let instance = try SecondInstance()
        let jobs = try await Jobs()
        let other = try instance.terminal(like: jobs.terminal).path
        for place in Place.allCases {
            let client: PromptClient
            var session: ChildProcess?
            switch place {
            case .first: client = try await jobs.run("JOB")
            case .second:
                let process = try await ChildProcess.start(
                    "/bin/sh",
                    ["-c", "exec 0<>\(other); exec sleep 600"]
                )
                session = process
                client = try await Deadline.wait(for: "the terminal of the second instance") {
                    guard let stat = ProcessStat(of: process.processID), stat.terminal > 0 else { return nil }
                    return PromptClient(process: process.processID, start: stat.start)
                }
                let inFirst = try #require(ProcessStat(of: client.process)).terminal
                var status = stat()
                #expect(unsafe stat(jobs.terminal.name, &status) == 0 && UInt64(status.st_rdev) == inFirst)
            }
            defer { session?.stop() }
            if place == .first {
                try await jobs.wait(for: client) { $0.channel != nil }
            } else {
                #expect(jobs.standing(of: client) == .background)
            }
        }
    }

    @Test(
        "a terminal of another instance that is mounted over the path is refused",
        .enabled(if: SecondInstance.isPossible, "this machine lets no test mount")
    )
    func mountedOver() async throws {
        let terminal = try PseudoTerminal()
        let other = try SecondInstance()
        let path = try other.terminal(like: terminal).path
        let owner = geteuid()
        #expect((try? PinentryTerminal(path: terminal.name, owner: owner)) != nil)
        let bind = UInt(MS_BIND)
        #expect(unsafe mount(path, terminal.name, nil, bind, nil) == 0)
        defer { unsafe umount2(terminal.name, CInt(MNT_DETACH)) }
        #expect(throws: PromptError(.notInteractive)) {
            try PinentryTerminal(path: terminal.name, owner: owner)
        }
    }

    @Test("the file system of a terminal is part of its channel")
    func channel() async throws {
        let jobs = try await Jobs()
        let client = try await jobs.run("JOB")
        try await jobs.wait(for: client) { $0.channel != nil }
        var status = stat()
        #expect(unsafe stat("/dev/pts", &status) == 0)
        #expect(jobs.standing(of: client).channel?.identity.contains(" on \(status.st_dev) ") == true)
    }
}
