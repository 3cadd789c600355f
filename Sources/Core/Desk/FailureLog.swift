import KeychainModel
import SecretMemory

/// Tells the log of requests behind which a part failed, and of those that were refused, of all visits.
///
/// A disk that is full fails every call: the same method with the same status is told once in a while, with how often
/// it came meanwhile. So is what one program is refused.
final class FailureLog: Sendable {
    private struct Kind: Hashable {
        let method: Method
        let status: Status
        /// Whose request was refused; nil for a failure, whoever asked.
        var program: String?
    }

    private struct Told {
        var time: SuspendingClock.Instant
        /// How many came since.
        var untold = 0
    }

    /// The most kinds that are remembered: a user may start any number of programs.
    private static let mostKinds = 1024

    private let audit: any AuditLog
    private let pause: Duration
    /// When each was told last.
    private let told = Guarded<[Kind: Told]>([:])

    init(_ audit: any AuditLog, pause: Duration) {
        self.audit = audit
        self.pause = pause
    }

    /// Records the failure or the refusal of a request, unless its user or what it asked was the reason.
    func record(_ error: KeychainError, of method: Method, by caller: Caller) {
        guard error.isFault || error.isRefusal else { return }
        var kind = Kind(method: method, status: error.status)
        if !error.isFault { kind.program = caller.program ?? "unknown" }
        let untold: Int? = told.withLock { told in
            if let last = told[kind], last.time.duration(to: .now) < pause {
                told[kind]?.untold += 1
                return nil
            }
            if told.count >= Self.mostKinds { told.removeAll() }
            return told.updateValue(Told(time: .now), forKey: kind)?.untold ?? 0
        }
        guard let untold else { return }
        var detail = "\(method) \(error.status.rawValue)"
        if let cause = error.cause { detail += " \(cause.domain) \(cause.code)" }
        if untold > 0 { detail += ", \(untold) more since" }
        audit.record(
            AuditEvent(error.isFault ? .requestFailed : .clientRefused, caller: caller, detail: detail)
        )
    }
}

extension KeychainError {
    /// Whether the group or the access control of an item refused it to who asked.
    fileprivate var isRefusal: Bool {
        switch status {
        case .missingEntitlement, .authFailed: authentication == nil
        case .interactionNotAllowed: cause != .locked
        default: false
        }
    }

    /// Whether a part failed: the disk, the store, hardware, or the program that asks.
    fileprivate var isFault: Bool {
        // A program that was moved or updated looks for what it stored before.
        if cause?.owner != nil { return true }
        // The file that was to be imported is the user's.
        guard cause?.domain != DriverCause.notAnExport.domain else { return false }
        return switch status {
        case .io, .diskFull, .readOnly, .decode, .internalComponent, .allocate: true
        case .notAvailable: cause != .notSetUp
        // Nobody was refused: what an evaluation needs is damaged or cannot be saved.
        case .authFailed: authentication?.code == .systemCancel && remedy == .check
        default: false
        }
    }
}
