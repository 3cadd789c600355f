import BrokerDriver
import BrokerProtocol
import CLinux
import Foundation
import Glibc
import KeychainModel
import SecretMemory
import SystemFacts
import Testing
import TouchstoneTesting

@Suite("A daemon's requests to the broker", .serialized)
struct BrokerDriverTests {
    /// The user of this process, who also owns the brokers' sockets in these tests.
    private static let owner = Owner.ofThisProcess().uid

    /// A broker client with a timeout generous for a busy machine, unless a test is about timeouts.
    private static func broker(_ path: String, _ told: Told = Told(), patience: Int = 60) -> Broker {
        Broker(at: BrokerAddress(path: path, owner: owner, patience: patience)) { told.add($0) }
    }

    private func process(_ pid: Int32) throws -> ClientProcess {
        let handle = clinux_pidfd_open(pid)
        try #require(handle >= 0)
        return ClientProcess(pid: pid, handle: handle)
    }

    /// Looks on its own thread, like the daemon: a look may block.
    private func look(_ broker: Broker, _ process: ClientProcess) async -> ProgramLook {
        await withCheckedContinuation { continuation in
            Thread.detachNewThread { continuation.resume(returning: BrokerNamer(broker).look(at: process)) }
        }
    }

    /// The reports of an unavailable broker.
    final class Told: Sendable {
        private let reasons = Guarded<[String]>([])
        func add(_ reason: String) { reasons.withLock { $0.append(reason) } }
        var count: Int { reasons.withLock { $0.count } }
    }

    // MARK: Programs

    @Test(
        "a process is named, and executing a program, even the same one, is noticed without a request",
        .enabled(if: RunningBroker.isPossible, "needs python3, and as root CAP_SYS_PTRACE"),
        arguments: [true, false]
    )
    func executes(isSame: Bool) async throws {
        let running = try await RunningBroker()
        let broker = Self.broker(running.path)
        let directory = try TemporaryDirectory()
        let go = directory.appending("go")
        #expect(mkfifo(go, 0o600) == 0)
        let shell = URL(fileURLWithPath: "/bin/sh").resolvingSymlinksInPath().path
        let next = isSame ? "\(shell) -c 'sleep 600; true'" : "sleep 600"
        let child = try await ChildProcess.start(shell, ["-c", "read line <\(go); exec \(next)"])
        try await Deadline.wait(for: "the shell") {
            (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/\(child.processID)/exe"))
                == shell ? true : nil
        }
        let look = await look(broker, try process(child.processID))
        let program = try #require(look.program)
        #expect(program.file.path == shell)
        #expect(look.processStart == ProcessStat(of: child.processID)?.start)
        for _ in 1...100 { #expect(program.isStill()) }
        // From here on the broker is stopped.
        running.process.stop()
        #expect(program.isStill())
        let writer = open(go, O_WRONLY | O_CLOEXEC)
        #expect(write(writer, "\n", 1) == 1)
        close(writer)
        try await Deadline.wait(for: "the other program") { program.isStill() ? nil : true }
        #expect(child.isRunning)
    }

    @Test(
        "an ended process has no name, also if its process ID was reused",
        .enabled(if: RunningBroker.isPossible, "needs python3, and as root CAP_SYS_PTRACE")
    )
    func ended() async throws {
        let running = try await RunningBroker()
        let broker = Self.broker(running.path)
        let child = try await ChildProcess.start("/bin/sleep", ["600"])
        let process = try process(child.processID)
        try await Deadline.wait(for: "a name") { await look(broker, process).program != nil ? true : nil }
        let program = try #require(await look(broker, process).program)
        child.stop()
        try await Deadline.wait(for: "its end") { program.isStill() ? nil : true }
        let late = await look(broker, process)
        #expect(late.program == nil && late.processStart == 0)
        // An ended process's ID, reused by a process that has a name.
        let ended = ClientProcess(pid: getpid(), handle: dup(process.handle))
        #expect(await look(broker, ended).program == nil)
        // The pidfd counts, whatever the process ID says.
        let other = ClientProcess(pid: child.processID, handle: clinux_pidfd_open(getpid()))
        let own = await look(broker, other)
        #expect(own.processStart == ProcessStat(of: getpid())?.start)
    }

    @Test(
        "a request leaves no descriptor open in the broker",
        .enabled(if: RunningBroker.isPossible, "needs python3, and as root CAP_SYS_PTRACE")
    )
    func leaks() async throws {
        let running = try await RunningBroker()
        let broker = Self.broker(running.path)
        let process = try process(getpid())
        func open() throws -> Int {
            try FileManager.default.contentsOfDirectory(
                atPath: "/proc/\(running.process.processID)/fd"
            ).count
        }
        _ = await look(broker, process)
        let before = try open()
        for _ in 1...50 { #expect(await look(broker, process).program != nil) }
        // The broker closes a connection only when it polls again.
        try await Deadline.wait(for: "closed descriptors") { try open() <= before + 1 ? true : nil }
    }

    // MARK: Unavailable broker

    /// Brokers whose answers give no name.
    enum Wrong: CaseIterable, Sendable {
        case missing, refusing, deaf, silent, hangsUp, garbage, empty, tooLong, noStart, notRunning, noImage,
            noDaemon,
            deadImage, otherNamespace, deleted, relative, untold, fault

        /// Whether the broker answers validly, though without a name.
        var answers: Bool {
            switch self {
            case .missing, .refusing, .deaf, .silent, .hangsUp, .garbage, .empty, .tooLong, .noDaemon: false
            default: true
            }
        }

        private func reply(_ change: (inout BrokerReply) -> Void = { _ in }) -> [UInt8] {
            var reply = BrokerReply()
            reply[.path] = .text("/usr/bin/trusted")
            reply[.inode] = .number(8)
            reply[.start] = .number(7)
            reply[.namespaces] = .number(1)
            reply[.deleted] = .number(0)
            change(&reply)
            return reply.packet
        }

        /// What the scripted broker does; `image` is a descriptor of a running program's file.
        func deed(image: CInt) -> ScriptedBroker.Deed? {
            let deed: ScriptedBroker.Deed? =
                switch self {
                case .missing, .refusing, .deaf: nil
                // Until the client hangs up.
                case .silent:
                    { peer in
                        var pending = pollfd(fd: peer, events: 0, revents: 0)
                        _ = poll(&pending, 1, 60_000)
                    }
                case .hangsUp: { ScriptedBroker.read($0) }
                case .garbage: ScriptedBroker.answering([0xFF, 0, 1, 2, 3])
                case .empty: ScriptedBroker.answering([])
                case .tooLong:
                    ScriptedBroker.answering([UInt8](repeating: 0xA0, count: 5000), descriptor: image)
                case .noStart:
                    ScriptedBroker.answering(reply { $0[.start] = .untold("away") }, descriptor: image)
                case .notRunning: ScriptedBroker.answering(BrokerReply(refused: "no process").packet)
                case .noDaemon: ScriptedBroker.answering(BrokerReply(refused: BrokerReply.noDaemon).packet)
                case .noImage: ScriptedBroker.answering(reply())
                case .deadImage:
                    { peer in
                        let null = open("/dev/null", O_RDONLY | O_CLOEXEC)
                        ScriptedBroker.answering(self.reply(), descriptor: null)(peer)
                        close(null)
                    }
                case .otherNamespace:
                    ScriptedBroker.answering(reply { $0[.namespaces] = .number(0) }, descriptor: image)
                case .deleted:
                    ScriptedBroker.answering(reply { $0[.deleted] = .number(1) }, descriptor: image)
                case .relative:
                    ScriptedBroker.answering(reply { $0[.path] = .text("trusted") }, descriptor: image)
                case .fault: ScriptedBroker.answering(BrokerReply(fault: "why").packet)
                case .untold:
                    ScriptedBroker.answering(reply { $0[.path] = .untold("no program") }, descriptor: image)
                }
            return deed
        }
    }

    @Test("an unavailable, slow or invalid broker names no program", arguments: Wrong.allCases)
    func wrong(_ wrong: Wrong) async throws {
        let own = try #require(try ProcessDirectory(getpid()))
        let image = try #require(try ProgramImage(of: own))
        let scripted = try ScriptedBroker(wrong.deed(image: image.descriptor))
        var path = scripted.path
        if wrong == .missing { path += "-not" }
        // Fill the backlog of two.
        let callers = wrong == .refusing ? try (1...2).map { _ in try BrokerPeer(scripted.path) } : []
        let told = Told()
        // The daemon's own timeout where no answer comes, and a longer one otherwise.
        let patience =
            wrong.answers || wrong == .garbage || wrong == .noDaemon ? 60 : BrokerAddress().patience
        let broker = Self.broker(path, told, patience: patience)
        let process = try process(getpid())
        let begin = ContinuousClock.now
        let look = await look(broker, process)
        #expect(look.program == nil)
        // An unavailable broker is distinguished from one that has no name.
        #expect((look.fault?.known == .brokerAway) == !wrong.answers)
        // One that could not find out is distinguished from both.
        #expect((look.fault == DriverCause(.programUnverified, detail: "why")) == (wrong == .fault))
        // A second for each request; the bound allows for a busy machine.
        #expect(ContinuousClock.now - begin < .seconds(55))
        let templates = await BrokerTemplates(broker, of: Self.owner).templates(expectingSome: true)
        #expect(templates == .untold)
        #expect(told.count == (wrong.answers ? 0 : 1))
        #expect(await (broker.fault()?.known == .brokerAway) == !wrong.answers)
        withExtendedLifetime(callers) {}
        withExtendedLifetime(scripted) {}
    }

    @Test("a valid answer of the same broker is accepted")
    func control() async throws {
        let own = try #require(try ProcessDirectory(getpid()))
        let image = try #require(try ProgramImage(of: own))
        var reply = BrokerReply()
        reply[.path] = .text("/usr/bin/trusted")
        reply[.inode] = .number(8)
        reply[.start] = .number(7)
        reply[.namespaces] = .number(1)
        reply[.deleted] = .number(0)
        let scripted = try ScriptedBroker(
            ScriptedBroker.answering(reply.packet, descriptor: image.descriptor)
        )
        let process = try process(getpid())
        let look = await look(Self.broker(scripted.path), process)
        #expect(
            look.program?.file == ProgramFile(path: "/usr/bin/trusted", inode: 8) && look.processStart == 7
        )
        // A socket owned by another user is refused, whatever its answers.
        let foreign = Broker(at: BrokerAddress(path: scripted.path, owner: Self.owner &+ 1))
        #expect(await self.look(foreign, process).program == nil)
        #expect(await foreign.fault()?.detail?.contains("the socket is user \(Self.owner)'s") == true)
    }

    @Test(
        "a restarted broker is found again, and each absence is reported once",
        .enabled(if: RunningBroker.isPossible, "needs python3, and as root CAP_SYS_PTRACE")
    )
    func restarted() async throws {
        let directory = try TemporaryDirectory()
        let path = directory.appending("socket")
        let told = Told()
        let broker = Self.broker(path, told)
        let process = try process(getpid())
        for round in 1...2 {
            for _ in 1...3 { #expect(await look(broker, process).program == nil) }
            #expect(told.count == round)
            #expect(await broker.fault() != nil)
            let running = try await RunningBroker()
            #expect(symlink(running.path, path) == 0)
            #expect(await look(broker, process).program != nil)
            #expect(await broker.fault() == nil)
            running.process.stop()
            unlink(path)
        }
    }

    // MARK: Templates

    @Test(
        "templates are digested; no answer, or no templates for enrolled fingers, counts as unknown",
        .enabled(if: RunningBroker.isPossible, "needs python3, and as root CAP_SYS_PTRACE")
    )
    func templates() async throws {
        let directory = try TemporaryDirectory()
        let user = try #require(Owner.ofThisProcess().name)
        for name in [user, "\(user)/driver", "\(user)/driver/0"] { _ = try directory.makeDirectory(name) }
        let running = try await RunningBroker(templates: directory.path)
        let reader = BrokerTemplates(Self.broker(running.path), of: Self.owner)
        #expect(await reader.templates(expectingSome: true) == .untold)
        guard case .digest(let empty) = await reader.templates(expectingSome: false) else {
            Issue.record("no digest")
            return
        }
        _ = try directory.write("one", to: "\(user)/driver/0/7")
        guard case .digest(let one) = await reader.templates(expectingSome: true) else {
            Issue.record("no digest")
            return
        }
        #expect(one != empty && one.count == 32)
        #expect(await reader.templates(expectingSome: true) == .digest(one))
        let stranger = BrokerTemplates(Self.broker(running.path), of: 4_000_000_000)
        #expect(await stranger.templates(expectingSome: false) == .untold)
        let blind = try await RunningBroker()
        let other = BrokerTemplates(Self.broker(blind.path), of: Self.owner)
        #expect(await other.templates(expectingSome: false) == .untold)
        running.process.stop()
        #expect(await reader.templates(expectingSome: true) == .untold)
    }
}
