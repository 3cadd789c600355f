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

@Suite("A daemon asks the broker", .serialized)
struct BrokerDriverTests {
    /// The user of this process, who also listens for the brokers of these tests.
    private static let owner = Owner.ofThisProcess().uid

    /// One that is waited for as long as a busy machine needs, unless a test is about waiting.
    private static func broker(_ path: String, _ told: Told = Told(), patience: Int = 60) -> Broker {
        Broker(at: BrokerAddress(path: path, owner: owner, patience: patience)) { told.add($0) }
    }

    private func process(_ pid: Int32) throws -> ClientProcess {
        let handle = clinux_pidfd_open(pid)
        try #require(handle >= 0)
        return ClientProcess(pid: pid, handle: handle)
    }

    /// Looks on a thread of its own, as the daemon does: a look may wait.
    private func look(_ broker: Broker, _ process: ClientProcess) async -> ProgramLook {
        await withCheckedContinuation { continuation in
            Thread.detachNewThread { continuation.resume(returning: BrokerNamer(broker).look(at: process)) }
        }
    }

    /// What was told of a broker that is away.
    final class Told: Sendable {
        private let reasons = Guarded<[String]>([])
        func add(_ reason: String) { reasons.withLock { $0.append(reason) } }
        var count: Int { reasons.withLock { $0.count } }
    }

    // MARK: Programs

    @Test(
        "names a process, and notices without a question that it executes another program, or the same again",
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
        #expect(program.path == shell)
        #expect(look.processStart == ProcessStat(of: child.processID)?.start)
        for _ in 1...100 { #expect(program.isStill()) }
        // From here on nobody could be asked.
        running.process.stop()
        #expect(program.isStill())
        let writer = open(go, O_WRONLY | O_CLOEXEC)
        #expect(write(writer, "\n", 1) == 1)
        close(writer)
        try await Deadline.wait(for: "the other program") { program.isStill() ? nil : true }
        #expect(child.isRunning)
    }

    @Test(
        "a process that ended is nobody, also where its number is another's by now",
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
        // A number that was the ended one's, and is a named program's by now.
        let ended = ClientProcess(pid: getpid(), handle: dup(process.handle))
        #expect(await look(broker, ended).program == nil)
        // The pidfd is what is asked for, whatever the number says.
        let other = ClientProcess(pid: child.processID, handle: clinux_pidfd_open(getpid()))
        let own = await look(broker, other)
        #expect(own.processStart == ProcessStat(of: getpid())?.start)
    }

    @Test(
        "leaves nothing open in the broker",
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
        // It closes the last connection once it has looked at it again.
        try await Deadline.wait(for: "closed descriptors") { try open() <= before + 1 ? true : nil }
    }

    // MARK: Away

    /// Brokers that tell nothing.
    enum Wrong: CaseIterable, Sendable {
        case missing, refusing, deaf, silent, hangsUp, garbage, empty, tooLong, noStart, notRunning, noImage,
            noDaemon,
            deadImage, otherNamespace, deleted, relative, untold

        /// Whether it answers, though with nothing that names a program.
        var answers: Bool {
            switch self {
            case .missing, .refusing, .deaf, .silent, .hangsUp, .garbage, .empty, .tooLong, .noDaemon: false
            default: true
            }
        }

        private func reply(_ change: (inout BrokerReply) -> Void = { _ in }) -> [UInt8] {
            var reply = BrokerReply()
            reply[.path] = .text("/usr/bin/trusted")
            reply[.start] = .number(7)
            reply[.namespaces] = .number(1)
            reply[.deleted] = .number(0)
            change(&reply)
            return reply.packet
        }

        /// `image` reads as one that still runs.
        func deed(image: CInt) -> ScriptedBroker.Deed? {
            let deed: ScriptedBroker.Deed? =
                switch self {
                case .missing, .refusing, .deaf: nil
                // Until the other side has gone.
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
                case .untold:
                    ScriptedBroker.answering(reply { $0[.path] = .untold("no program") }, descriptor: image)
                }
            return deed
        }
    }

    @Test("a broker that is away, slow, or says what is no answer names nobody", arguments: Wrong.allCases)
    func wrong(_ wrong: Wrong) async throws {
        let own = try #require(ProcessDirectory(getpid()))
        let image = try #require(ProgramImage(of: own))
        let scripted = try ScriptedBroker(wrong.deed(image: image.descriptor))
        var path = scripted.path
        if wrong == .missing { path += "-not" }
        // A backlog of two that nobody takes.
        let callers = wrong == .refusing ? try (1...2).map { _ in try BrokerPeer(scripted.path) } : []
        let told = Told()
        // As the daemon has it where nothing is to come, and longer where something is.
        let patience =
            wrong.answers || wrong == .garbage || wrong == .noDaemon ? 60 : BrokerAddress().patience
        let broker = Self.broker(path, told, patience: patience)
        let process = try process(getpid())
        let begin = ContinuousClock.now
        let look = await look(broker, process)
        #expect(look.program == nil)
        // One that could not be asked is told apart from one that has no name to tell.
        #expect((look.fault?.known == .brokerAway) == !wrong.answers)
        // A second each, on a machine that is busy.
        #expect(ContinuousClock.now - begin < .seconds(55))
        let templates = await BrokerTemplates(broker, of: Self.owner).templates(expectingSome: true)
        #expect(templates == .untold)
        #expect(told.count == (wrong.answers ? 0 : 1))
        #expect(await (broker.fault()?.known == .brokerAway) == !wrong.answers)
        withExtendedLifetime(callers) {}
        withExtendedLifetime(scripted) {}
    }

    @Test("what the same broker says in order is believed")
    func control() async throws {
        let own = try #require(ProcessDirectory(getpid()))
        let image = try #require(ProgramImage(of: own))
        var reply = BrokerReply()
        reply[.path] = .text("/usr/bin/trusted")
        reply[.start] = .number(7)
        reply[.namespaces] = .number(1)
        reply[.deleted] = .number(0)
        let scripted = try ScriptedBroker(
            ScriptedBroker.answering(reply.packet, descriptor: image.descriptor)
        )
        let process = try process(getpid())
        let look = await look(Self.broker(scripted.path), process)
        #expect(look.program?.path == "/usr/bin/trusted" && look.processStart == 7)
        // Another user's socket is not believed, whatever comes from it.
        let foreign = Broker(at: BrokerAddress(path: scripted.path, owner: Self.owner &+ 1))
        #expect(await self.look(foreign, process).program == nil)
        #expect(await foreign.fault()?.detail?.contains("the socket is user \(Self.owner)'s") == true)
    }

    @Test(
        "is found again after it was started anew, and its absence is told once each time",
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
        "digests the templates; without an answer, or where none are found though fingers are enrolled, nothing is told",
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
