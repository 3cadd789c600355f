import Glibc
import KeychainModel
import SecretMemory

/// The programs that draw a prompter's prompts now.
final class DrawingPrograms: Sendable {
    private let origins = Guarded<[pid_t: PromptOrigin]>([:])

    /// Adds a program that draws a prompt for a request from `origin`.
    func add(_ program: pid_t, at origin: PromptOrigin) { origins.withLock { $0[program] = origin } }

    /// Removes a program; called before it is reaped, while no other process can have its pid.
    func remove(_ program: pid_t) { origins.withLock { $0[program] = nil } }

    /// Whether one of those for a request from `origin` is stopped: its prompt stays visible, and nobody can cancel it.
    func areStopped(at origin: PromptOrigin) -> Bool {
        origins.withLock { origins in
            origins.contains { $0.value == origin && ProcessStat(of: $0.key)?.isStopped == true }
        }
    }
}
