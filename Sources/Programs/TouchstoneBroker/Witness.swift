package import BrokerProtocol
import CLinux
import Crypto
import Glibc
import KeychainModel
import SystemFacts

/// What the broker finds out; it keeps nothing of it.
package struct Witness {
    /// The process whose mount and user namespaces are the machine's.
    private let machine: ProcessDirectory
    /// Where fprintd keeps templates.
    private let templates: String

    /// Nil where there is no such process.
    package init?(machine: Int32, templates: String) {
        guard let directory = ProcessDirectory(machine) else { return nil }
        self.machine = directory
        self.templates = templates
    }

    /// Answers one request; `handle` is the descriptor that came with it, -1 for none.
    package func answer(_ request: BrokerRequest, handle: CInt) -> BrokerReply? {
        switch request {
        case .identify: handle < 0 ? nil : identify(handle)
        case .enrolment(let uid): handle < 0 ? enrolment(of: uid) : nil
        }
    }

    private func identify(_ handle: CInt) -> BrokerReply {
        guard let process = PinnedProcess(handle: handle) else { return BrokerReply(refused: "no process") }
        var reply = BrokerReply()
        let shares = process.directory.sharesNamespaces(with: machine)
        reply[.namespaces] = shares.map { .number($0 ? 1 : 0) } ?? .untold("not readable")
        reply[.tracer] = process.directory.tracer.map { .number($0) } ?? .untold("not readable")
        if let file = ProgramFile(of: process.directory) {
            reply[.device] = .number(file.status.device)
            reply[.inode] = .number(file.status.inode)
            reply[.owner] = .number(UInt64(file.status.owner))
            reply[.mode] = .number(UInt64(file.status.mode))
            reply[.deleted] = .number(file.status.links == 0 ? 1 : 0)
            switch shares {
            case true?:
                reply[.path] = file.path(on: machine).map { .text($0) } ?? .untold("no name on this machine")
            default: reply[.path] = .untold("other namespaces")
            }
        } else {
            reply[.path] = .untold("no program")
        }
        if let stat = process.directory.standing {
            reply[.start] = .number(stat.start)
            reply[.terminal] = .number(stat.terminal)
            reply[.session] = .number(UInt64(max(stat.session, 0)))
            let leader = ProcessStat(of: stat.session)
            reply[.sessionStart] = leader.map { .number($0.start) } ?? .untold("the leader has ended")
        } else {
            reply[.start] = .untold("not readable")
        }
        return process.isRunning ? reply : BrokerReply(refused: "no process")
    }

    private func enrolment(of uid: UInt32) -> BrokerReply {
        guard let name = Owner.name(of: uid) else { return BrokerReply(refused: "no such user") }
        guard let look = TemplateFiles(directory: templates, user: name).look() else {
            return BrokerReply(refused: "the templates cannot be read")
        }
        var reply = BrokerReply()
        reply[.count] = .number(UInt64(look.count))
        reply[.digest] = .bytes(Array(SHA256.hash(data: look.records)))
        return reply
    }
}
