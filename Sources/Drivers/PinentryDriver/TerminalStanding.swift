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
    /// A client without that controlling terminal counts as its nearest ancestor that has it: `su -c` and setsid(1)
    /// start programs in a session of their own. A terminal that is no process's controlling terminal has no other
    /// reader.
    init(of client: PromptClient?, to terminal: stat, daemon: Int32 = getpid()) {
        let device = UInt64(terminal.st_rdev)
        // A client that cannot be told from a later process with the same pid gets a prompt, but no channel.
        guard let client, client.start > 0, let stat = ProcessStat(of: client.process),
            stat.start == client.start
        else {
            self = .foreground(nil)
            return
        }
        if let holder = Self.holder(of: device, from: stat) {
            self = holder.isInForeground ? .foreground(Self.channel(device, holder.session)) : .background
        } else if Self.controlsSomebody(device, besides: daemon) {
            self = .background
        } else {
            // The inode's change time: when the terminal was made, or its owner or mode changed.
            let made = "\(terminal.st_ctim.tv_sec).\(terminal.st_ctim.tv_nsec)"
            self = .foreground(PromptChannel("terminal \(Self.name(device)) of nobody, made \(made)"))
        }
    }

    /// The channel of a terminal and its session.
    private static func channel(_ device: UInt64, _ session: Int32) -> PromptChannel? {
        ProcessStat(of: session).map {
            PromptChannel("terminal \(name(device)) session \(session) started \($0.start)")
        }
    }

    private static func name(_ device: UInt64) -> String {
        "\((device >> 8) & 0xFFF):\((device & 0xFF) | ((device >> 12) & 0xFFF00))"
    }

    /// The process itself or its nearest ancestor with this controlling terminal.
    private static func holder(of device: UInt64, from process: ProcessStat) -> ProcessStat? {
        var process = process
        for _ in 0..<mostAncestors {
            if process.terminal == device { return process }
            guard let parent = ProcessStat(of: process.parent) else { return nil }
            process = parent
        }
        return nil
    }

    /// Deeper than any real tree; a bound, because processes start and end during the walk.
    private static let mostAncestors = 64

    /// Whether some process has this controlling terminal.
    ///
    /// A prompt program, a child of the daemon, does not count: opening a terminal without a session makes it the
    /// program's own. Only session leaders are checked: a terminal controls a session, and none once its leader has
    /// ended or released it (the kernel's `disassociate_ctty`). getsid(2) takes a twentieth of the time of reading
    /// `stat`, and is called for all processes of the machine.
    private static func controlsSomebody(_ device: UInt64, besides daemon: Int32) -> Bool {
        guard let directory = unsafe opendir("/proc") else { return true }
        defer { unsafe closedir(directory) }
        while let entry = unsafe readdir(directory) {
            let name = unsafe withUnsafeBytes(of: &entry.pointee.d_name) { unsafe number($0) }
            guard let process = name else { continue }
            // -1 for a process that has ended.
            let session = getsid(process)
            let mayControl = session == process || session == 0 && !isFirstNamespace
            guard mayControl, let stat = ProcessStat(of: process) else { continue }
            if stat.terminal == device, stat.parent != daemon { return true }
        }
        return false
    }

    /// Whether this process is in the initial PID namespace.
    ///
    /// There session 0 is that of the kernel threads, which have no terminal. In any other namespace session 0
    /// is one whose leader is not visible.
    private static let isFirstNamespace: Bool = {
        var status = stat()
        // `PROC_PID_INIT_INO` (linux/proc_ns.h).
        return unsafe stat("/proc/self/ns/pid", &status) == 0 && status.st_ino == 0xEFFF_FFFC
    }()

    /// The pid that a file name in `/proc` stands for; nil for other names.
    private static func number(_ name: UnsafeRawBufferPointer) -> Int32? {
        var number: Int32 = 0
        for index in name.indices {
            let octet = unsafe name[index]
            if octet == 0 { return index > 0 ? number : nil }
            guard octet >= UInt8(ascii: "0"), octet <= UInt8(ascii: "9"), number < 1 << 24 else { return nil }
            number = number * 10 + Int32(octet - UInt8(ascii: "0"))
        }
        return nil
    }
}
