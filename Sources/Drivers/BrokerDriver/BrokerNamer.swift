internal import BrokerProtocol
internal import Glibc
public import KeychainModel
internal import SystemFacts

/// Names programs by what the broker tells, for a daemon that may not look at its callers itself.
///
/// A program is named where it runs in the machine's own namespaces, its file still has the path, and the broker handed out
/// the memory that it runs in: that memory tells at each request, without a question, that no other program was executed.
/// What Flatpak's file in the process's root says is not asked for: the user can write it.
public struct BrokerNamer: ProgramNamer {
    private let broker: Broker

    /// Asks this broker.
    public init(_ broker: Broker) { self.broker = broker }

    /// A look takes up to a second.
    public var waits: Bool { true }

    /// Asks which program a process runs; a broker that does not answer is the look's fault.
    public func look(at process: ClientProcess) -> ProgramLook {
        let answer: Broker.Answer
        do throws(Broker.Silence) {
            answer = try broker.ask(.identify, handle: process.handle)
        } catch {
            return ProgramLook(fault: DriverCause(.brokerAway, detail: error.reason))
        }
        guard let start = answer.reply.number(.start), start > 0, Self.isRunning(process)
        else { return .nothing }
        return ProgramLook(processStart: start, program: Self.program(answer))
    }

    private static func program(_ answer: Broker.Answer) -> RunningProgram? {
        let reply = answer.reply
        guard let path = reply.text(.path), path.hasPrefix("/"), !path.utf8.contains(0),
            reply.number(.namespaces) == 1, reply.number(.deleted) == 0,
            let image = answer.image, image.isStill
        else { return nil }
        return RunningProgram(path: path, isStill: { image.isStill })
    }

    /// A pidfd can be read once its process has ended.
    private static func isRunning(_ process: ClientProcess) -> Bool {
        var descriptor = pollfd(fd: process.handle, events: Int16(POLLIN), revents: 0)
        return SystemCall.uninterrupted { unsafe poll(&descriptor, 1, 0) } == 0
    }
}
