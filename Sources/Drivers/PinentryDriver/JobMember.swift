import Glibc
import KeychainModel

/// A process as a member of a shell's job.
struct JobMember {
    let process: Int32
    let stat: ProcessStat

    /// Deeper than any real tree; a bound, because processes start and end during the walk.
    private static let mostAncestors = 64

    init(_ process: Int32, _ stat: ProcessStat) { (self.process, self.stat) = (process, stat) }

    private init?(of process: Int32) {
        guard let stat = ProcessStat(of: process) else { return nil }
        self.init(process, stat)
    }

    private var parent: JobMember? { JobMember(of: stat.parent) }

    /// The process itself or its nearest ancestor with this controlling terminal.
    func nearest(withTerminal device: UInt64) -> JobMember? {
        var member = self
        for _ in 0..<Self.mostAncestors {
            if member.stat.terminal == device { return member }
            guard let parent = member.parent else { return nil }
            member = parent
        }
        return nil
    }

    /// Whether it belongs to the job of a process group: as its leader, as a descendant of the leader inside of the
    /// group, or as another part of the leader's pipeline.
    ///
    /// Every process of a session may join any group of the session (setpgid(2)), so that membership says nothing. A shell
    /// with job control waits for what it keeps in its own group, such as a command substitution; while it edits a line, it
    /// waits for nothing, and only the shell itself belongs to its group's job.
    ///
    /// - Parameters:
    ///   - group: the process group.
    ///   - isEditing: whether the terminal's reader gets keys one by one, as a shell that edits a line.
    /// - Returns: whether it does.
    func isPartOfJob(_ group: Int32, isEditing: Bool = false) -> Bool {
        var member = self
        for _ in 0..<Self.mostAncestors {
            guard member.stat.processGroup == group else { return false }
            if member.process == group {
                return member.process == process || !(isEditing && member.stat.ignoresJobControl)
            }
            guard let parent = member.parent else { return false }
            guard parent.stat.processGroup == group, parent.stat.session == member.stat.session else {
                return member.isPartOfPipeline(group, of: parent)
            }
            member = parent
        }
        return false
    }

    /// Whether it is a part of a pipeline that `shell` started: the leader's sibling, and not older than the leader.
    private func isPartOfPipeline(_ group: Int32, of shell: JobMember) -> Bool {
        guard shell.stat.session == stat.session else { return false }
        if let leader = JobMember(of: group), leader.stat.processGroup == group {
            // Start times are in clock ticks; pids are given out in ascending order.
            return leader.stat.parent == shell.process
                && (stat.start, process) > (leader.stat.start, leader.process)
        }
        // The leader has ended (`echo | client`). One shell starts all parts; a child of one of its jobs that joined has a
        // parent whose ancestor is the shell.
        return process > group
            && Self.parents(ofParts: group, session: stat.session).allSatisfy {
                $0.descends(from: shell.process)
            }
    }

    private func descends(from ancestor: Int32) -> Bool {
        var member = self
        for _ in 0..<Self.mostAncestors {
            if member.process == ancestor { return true }
            guard let parent = member.parent else { return false }
            member = parent
        }
        return false
    }

    /// The processes of a session outside of a group that have children in it.
    private static func parents(ofParts group: Int32, session: Int32) -> [JobMember] {
        guard let directory = unsafe opendir("/proc") else { return [] }
        defer { unsafe closedir(directory) }
        var parents: [JobMember] = []
        while let entry = unsafe readdir(directory) {
            let name = unsafe withUnsafeBytes(of: &entry.pointee.d_name) { unsafe number($0) }
            // getsid(2) takes a twentieth of the time of reading `stat`.
            guard let process = name, getsid(process) == session, let part = JobMember(of: process),
                part.stat.processGroup == group, let parent = part.parent,
                parent.stat.processGroup != group, parent.stat.session == session
            else { continue }
            parents.append(parent)
        }
        return parents
    }

    /// The pid that a file name in `/proc` stands for; nil for other names.
    private static func number(_ name: UnsafeRawBufferPointer) -> Int32? {
        var number: Int32 = 0
        for index in name.indices {
            let byte = unsafe name[index]
            if byte == 0 { return index > 0 ? number : nil }
            guard byte >= UInt8(ascii: "0"), byte <= UInt8(ascii: "9"), number < 1 << 24 else { return nil }
            number = number * 10 + Int32(byte - UInt8(ascii: "0"))
        }
        return nil
    }
}
