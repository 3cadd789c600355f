internal import BrokerProtocol
internal import Glibc
public import KeychainModel
internal import SystemFacts

/// Names programs through the broker, for a daemon that may not inspect its callers itself.
///
/// A program is named if it runs in the machine's own namespaces, its file still has the path, and the broker sent a
/// descriptor of the memory that the process runs in: with it each later request can check, without the broker, that
/// the process has not executed another program. Flatpak's file in the process's root is not consulted: the user can
/// write it.
public struct BrokerNamer: ProgramNamer {
    private let broker: Broker

    /// Creates a namer that uses this broker.
    public init(_ broker: Broker) { self.broker = broker }

    /// True: identifying a process takes up to a second.
    public var waits: Bool { true }

    /// Asks the broker which program a process runs; if the broker does not reply or could not determine it, the result
    /// holds the fault.
    public func look(at process: ClientProcess) -> ProgramLook {
        let answer: Broker.Answer
        do throws(Broker.Silence) {
            answer = try broker.ask(.identify, handle: process.handle)
        } catch {
            return ProgramLook(fault: DriverCause(.brokerAway, detail: error.reason))
        }
        guard Self.isRunning(process) else { return .nothing }
        if let reason = answer.reply.text(.fault) {
            return ProgramLook(fault: DriverCause(.programUnverified, detail: reason))
        }
        guard let start = answer.reply.number(.start), start > 0 else { return .nothing }
        return ProgramLook(
            processStart: start,
            program: Self.program(answer),
            terminal: answer.reply.number(.terminal),
            startedBy: { [startedBy = answer.reply.text(.startedBy) ?? ""] in startedBy }
        )
    }

    private static func program(_ answer: Broker.Answer) -> RunningProgram? {
        let reply = answer.reply
        guard let path = reply.text(.path), path.hasPrefix("/"), !path.utf8.contains(0),
            reply.number(.namespaces) == 1, reply.number(.deleted) == 0,
            let inode = reply.number(.inode), let image = answer.image, image.isStill
        else { return nil }
        return RunningProgram(ProgramFile(path: path, inode: inode), isStill: { image.isStill })
    }

    /// A pidfd becomes readable when its process ends.
    private static func isRunning(_ process: ClientProcess) -> Bool {
        var descriptor = pollfd(fd: process.handle, events: Int16(POLLIN), revents: 0)
        return SystemCall.uninterrupted { unsafe poll(&descriptor, 1, 0) } == 0
    }
}
