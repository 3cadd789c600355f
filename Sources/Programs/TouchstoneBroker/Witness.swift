package import BrokerProtocol
import CLinux
import Glibc
import KeychainModel
import Primitives
package import SystemFacts

/// Determines the facts that the broker reports; stores none of them.
package struct Witness {
    /// An answer, and the descriptor that goes with it.
    package struct Answer {
        /// The reply.
        package let reply: BrokerReply
        /// The memory image of the named program; nil if the reply names none.
        package var image: ProgramImage?
    }

    /// What a peer may ask about.
    package enum Asker: Sendable, Equatable {
        /// Any user: for root, which could look itself.
        case anybody
        /// One user's processes and enrolled fingers: for that user's daemon.
        case user(UInt32)
        /// Nothing: for a process of the daemons' account that is not a user's daemon.
        case nobody
    }

    /// The process whose mount and user namespaces are taken as the machine's.
    private let machine: ProcessDirectory
    /// The directory where fprintd keeps templates.
    private let templates: String

    /// Nil if there is no such process.
    package init?(machine: Int32, templates: String) {
        guard let directory = try? ProcessDirectory(machine) else { return nil }
        self.machine = directory
        self.templates = templates
    }

    /// Answers one request of `asker`; `handle` is the descriptor sent with it, -1 for none.
    package func answer(_ request: BrokerRequest, handle: CInt, to asker: Asker) -> Answer? {
        switch request {
        case .identify where handle < 0: return nil
        case .enrolment where handle >= 0: return nil
        case _ where asker == .nobody: return Answer(reply: BrokerReply(refused: BrokerReply.noDaemon))
        case .identify: return identify(handle, for: asker)
        case .enrolment(let uid):
            guard asker == .anybody || asker == .user(uid) else {
                return Answer(reply: BrokerReply(refused: "another user"))
            }
            return Answer(reply: enrolment(of: uid))
        }
    }

    private func identify(_ handle: CInt, for asker: Asker) -> Answer {
        do throws(UnreadableFile) {
            guard let process = try PinnedProcess(handle: handle) else { return Self.gone }
            let answer: Answer
            do throws(UnreadableFile) {
                answer = try identify(process, for: asker)
            } catch {
                // The files of a process disappear with it; a running one's could not be read.
                guard process.isRunning else { return Self.gone }
                throw error
            }
            return process.isRunning ? answer : Self.gone
        } catch {
            return Answer(reply: BrokerReply(fault: error.description))
        }
    }

    private static let gone = Answer(reply: BrokerReply(refused: "no process"))

    /// Every fact of a running process, or why one could not be determined.
    private func identify(_ process: PinnedProcess, for asker: Asker) throws(UnreadableFile) -> Answer {
        let directory = process.directory
        if case .user(let uid) = asker, try directory.user() != uid {
            return Answer(reply: BrokerReply(refused: "another user's process"))
        }
        // Opened first, so that the path below is reported only if it belongs to this memory.
        let image = try ProgramImage(of: directory)
        guard let file = try ProgramFile(of: directory), let stat = try directory.standing() else {
            return Self.gone
        }
        var reply = BrokerReply()
        let shares = try directory.sharesNamespaces(with: machine)
        reply[.namespaces] = .number(shares ? 1 : 0)
        reply[.tracer] = .number(try directory.tracer())
        reply[.device] = .number(file.status.device)
        reply[.inode] = .number(file.status.inode)
        reply[.owner] = .number(UInt64(file.status.owner))
        reply[.mode] = .number(UInt64(file.status.mode))
        reply[.deleted] = .number(file.status.links == 0 ? 1 : 0)
        if shares {
            reply[.path] = try file.path(on: machine).map { .text($0) } ?? .untold("no name on this machine")
        } else {
            reply[.path] = .untold("other namespaces")
        }
        reply[.start] = .number(stat.start)
        reply[.terminal] = .number(stat.terminal)
        reply[.session] = .number(UInt64(max(stat.session, 0)))
        reply[.startedBy] = .text(ProcessStarters.text(of: process.pid, startedAt: stat.start))
        let leader = ProcessStat(of: stat.session)
        reply[.sessionStart] = leader.map { .number($0.start) } ?? .untold("the leader has ended")
        if reply.text(.path) != nil, image?.isStill != true {
            reply[.path] = .untold("it executed another program")
        }
        return Answer(reply: reply, image: reply.text(.path) == nil ? nil : image)
    }

    private func enrolment(of uid: UInt32) -> BrokerReply {
        guard let name = Owner.name(of: uid) else { return BrokerReply(refused: "no such user") }
        guard let look = TemplateFiles(directory: templates, user: name).look() else {
            return BrokerReply(refused: "the templates cannot be read")
        }
        var reply = BrokerReply()
        reply[.count] = .number(UInt64(look.count))
        reply[.digest] = .bytes(SHA256.digest(of: look.records))
        return reply
    }
}
