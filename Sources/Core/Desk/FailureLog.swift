package import KeychainModel
import SecretMemory

/// Logs requests of all visits that failed because a part failed, or that were refused.
///
/// A full disk fails every call, so the same method with the same status is logged once per pause, with the number of
/// failures not logged in between; the same holds for refusals of one program, and for connections that are refused or
/// ended for the same reason: no client can fill the log.
package final class FailureLog: Sendable {
    private struct Kind: Hashable {
        let what: String
        var uid: UInt32?
        /// The program whose request was refused; nil for a failure, which is counted for all callers.
        var program: String?
    }

    private struct Told {
        var time: SuspendingClock.Instant
        /// The number of failures since then.
        var untold = 0
    }

    /// The most kinds remembered: a user may start any number of programs.
    private static let mostKinds = 1024

    private let audit: any AuditLog
    private let pause: Duration
    /// When each kind was logged last.
    private let told = Guarded<[Kind: Told]>([:])

    init(_ audit: any AuditLog, pause: Duration) {
        self.audit = audit
        self.pause = pause
    }

    /// Logs a failed or refused request, unless the user or the request itself was the cause.
    func record(_ error: KeychainError, of method: Method, by caller: Caller) {
        guard error.isFault || error.isRefusal else { return }
        var kind = Kind(what: "\(method) \(error.status.rawValue)")
        if !error.isFault { kind.program = caller.program ?? "unknown" }
        guard let untold = count(kind) else { return }
        var detail = "\(method) \(error.auditDetail)"
        if untold > 0 { detail += ", \(untold) more since" }
        audit.record(
            AuditEvent(error.isFault ? .requestFailed : .clientRefused, caller: caller, detail: detail)
        )
    }

    /// Logs that a connection was refused or ended because of what its client did.
    ///
    /// - Parameters:
    ///   - reason: the event's text.
    ///   - kind: what is logged once per pause for each user; nil for the reason itself, unless that has a name in it.
    ///   - caller: the client; nil if unknown.
    package func recordRefusal(_ reason: String, kind: String? = nil, by caller: Caller?) {
        guard let untold = count(Kind(what: kind ?? reason, uid: caller?.uid)) else { return }
        let detail = untold > 0 ? "\(reason), \(untold) more since" : reason
        audit.record(AuditEvent(.clientRefused, caller: caller, detail: detail))
    }

    /// Counts a failure; the number of those not logged before if it is to be logged, otherwise nil.
    private func count(_ kind: Kind) -> Int? {
        told.withLock { told in
            if let last = told[kind], last.time.duration(to: .now) < pause {
                told[kind]?.untold += 1
                return nil
            }
            if told.count >= Self.mostKinds { told.removeAll() }
            return told.updateValue(Told(time: .now), forKey: kind)?.untold ?? 0
        }
    }
}

extension KeychainError {
    /// The status and the driver's cause; no text of a client.
    var auditDetail: String {
        cause.map { "\(status.rawValue) \($0.domain) \($0.code)" } ?? "\(status.rawValue)"
    }

    /// Whether the group or the access control of an item refused the caller.
    fileprivate var isRefusal: Bool {
        switch status {
        case .missingEntitlement, .authFailed: authentication == nil
        case .interactionNotAllowed: cause != .locked
        default: false
        }
    }

    /// Whether a part failed: the disk, the store, hardware, or the calling program.
    fileprivate var isFault: Bool {
        // A program that was moved or updated looks for the items it stored before.
        if cause?.owner != nil { return true }
        // The user supplied the file that was to be imported.
        guard cause?.domain != DriverCause.notAnExport.domain else { return false }
        return switch status {
        case .io, .diskFull, .readOnly, .decode, .internalComponent, .allocate: true
        case .notAvailable: cause != .notSetUp
        // Not a refusal: data that an evaluation needs is damaged or cannot be saved.
        case .authFailed: authentication?.code == .systemCancel && remedy == .check
        default: false
        }
    }
}
