import CLinux
package import KeychainModel
import SystemFacts

/// Names programs of the user that the daemon runs as, whose `/proc/PID/exe` the daemon may read.
package struct ProcessNamer: ProgramNamer {
    /// False: it reads `/proc`.
    package var waits: Bool { false }

    /// Creates a namer.
    package init() {}

    /// Reads which program a process runs.
    package func look(at client: ClientProcess) -> ProgramLook {
        do throws(UnreadableFile) {
            guard let process = try ProcessDirectory(client.pid), let stat = try process.standing() else {
                return .nothing
            }
            let found = try process.program()
            guard clinux_pidfd_signal(client.handle, 0) == 0 else { return .nothing }
            return ProgramLook(
                processStart: stat.start,
                program: found.map { found in
                    RunningProgram(
                        ProgramFile(path: found.path, inode: UInt64(found.file.inode)),
                        isStill: { process.programFile == found.file }
                    )
                },
                // Not the client, whose pidfd a served client need not hold open.
                startedBy: { [pid = client.pid] in ProcessStarters.text(of: pid, startedAt: stat.start) }
            )
        } catch {
            return ProgramLook(fault: DriverCause(.programUnverified, detail: error.description))
        }
    }
}
