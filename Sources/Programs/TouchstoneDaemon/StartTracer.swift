import KeychainModel

/// A process that traced this one (ptrace(2)) when it started, before the hardening that keeps later ones out.
enum StartTracer {
    /// What to tell the user, nil if there was none.
    ///
    /// Determined at the first use, which is the first step of the start.
    static let finding: String? = {
        do throws(UnreadableFile) {
            guard let process = try SmallFile.value("TracerPid", of: "/proc/self/status") else {
                throw UnreadableFile("/proc/self/status", .malformed)
            }
            return process == "0" ? nil : StatusReply.traced(by: "process \(process)")
        } catch {
            return StatusReply.traced(by: "a process that cannot be determined (\(error))")
        }
    }()
}
