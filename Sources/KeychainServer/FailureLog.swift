import KeychainModel
import SecretMemory

/// Tells the log of requests behind which a part failed, of all connections.
///
/// A disk that is full fails every call: the same method with the same status is told once in a while.
final class FailureLog: Sendable {
    private struct Kind: Hashable {
        let method: Method
        let status: Status
    }

    private let audit: any AuditLog
    private let pause: Duration
    /// When each was told last; as many as there are methods and statuses.
    private let told = Guarded<[Kind: MonotonicTime]>([:])

    init(_ audit: any AuditLog, pause: Duration) {
        self.audit = audit
        self.pause = pause
    }

    /// Records the failure of a request, unless its user or what it asked was the reason.
    func record(_ error: KeychainError, of method: Method, by caller: Caller) {
        guard error.isFault else { return }
        let kind = Kind(method: method, status: error.status)
        let isDue = told.withLock { told in
            if let last = told[kind], last.age < pause { return false }
            told[kind] = .now()
            return true
        }
        guard isDue else { return }
        var detail = "\(method) \(error.status.rawValue)"
        if let cause = error.cause { detail += " \(cause.domain) \(cause.code)" }
        audit.record(AuditEvent(.requestFailed, caller: caller, detail: detail))
    }
}

extension KeychainError {
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
