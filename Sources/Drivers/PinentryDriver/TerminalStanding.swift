import CLinux
import Glibc
import KeychainModel

/// Whether a client is in the foreground of the terminal that it names.
enum TerminalStanding: Equatable {
    /// It may read from the terminal; with the channel, if that can be determined.
    case foreground(PromptChannel?)
    /// Another process reads from it, such as the shell of a background job.
    case background

    /// The channel of a prompt there; nil if it cannot be determined or the client is in the background.
    var channel: PromptChannel? {
        guard case .foreground(let channel) = self else { return nil }
        return channel
    }

    /// Queries the kernel, each time anew: `fg`, `bg` and Ctrl-Z change the result.
    ///
    /// The foreground group is that of the open terminal, not of its device number, which a terminal of another devpts
    /// instance has too. A client without that controlling terminal counts as its nearest ancestor that has it: `su -c`
    /// and setsid(1) start programs in a session of their own. A terminal that is no process's controlling terminal has
    /// no other reader. A client that has ended or cannot be told from a later process with its pid is in the background.
    ///
    /// - Parameters:
    ///   - client: the requesting process; nil for a prompt of this process itself.
    ///   - terminal: an open descriptor of the terminal.
    ///   - trust: whether all terminals of the client's login are one channel.
    ///   - owner: the user whose login that has to be.
    ///   - isEditing: whether its reader got keys one by one, as a shell that edits a line, before anything was shown.
    ///   - daemon: the process whose children are prompt programs, which open a terminal of no session as their own.
    init(
        of client: PromptClient?,
        to terminal: CInt,
        trust: TerminalTrust = .terminal,
        owner: UInt32 = ProcessUser.uid,
        isEditing: Bool = false,
        daemon: Int32 = getpid()
    ) {
        guard let client else {
            self = .foreground(nil)
            return
        }
        var (status, group) = (stat(), Int32(0))
        guard client.start > 0, let process = ProcessStat(of: client.process), process.start == client.start,
            unsafe fstat(terminal, &status) == 0, unsafe clinux_terminal_foreground(terminal, &group) == 0
        else {
            self = .background
            return
        }
        let name = Self.name(of: status)
        let holder = JobMember(client.process, process).nearest(withTerminal: UInt64(status.st_rdev))
        if let holder, holder.isPartOfJob(group, isEditing: isEditing) {
            if trust == .session {
                if let shared = trust.sharedChannel(ofLogin: client.login(of: owner)) {
                    self = .foreground(shared)
                    return
                }
            }
            let session = holder.stat.session
            self = .foreground(
                ProcessStat(of: session).map {
                    PromptChannel("terminal \(name) session \(session) started \($0.start)")
                }
            )
        } else if group == 0 || holder == nil && ProcessStat(of: group)?.parent == daemon {
            // The inode's change time: when the terminal was made, or its owner or mode changed.
            let made = "\(status.st_ctim.tv_sec).\(status.st_ctim.tv_nsec)"
            self = .foreground(PromptChannel("terminal \(name) of nobody, made \(made)"))
        } else {
            self = .background
        }
    }

    /// The device number, and the file system: every devpts instance counts its terminals from 0.
    private static func name(of terminal: stat) -> String {
        let device = UInt64(terminal.st_rdev)
        let (major, minor) = ((device >> 8) & 0xFFF, (device & 0xFF) | ((device >> 12) & 0xFFF00))
        return "\(major):\(minor) on \(terminal.st_dev)"
    }
}
