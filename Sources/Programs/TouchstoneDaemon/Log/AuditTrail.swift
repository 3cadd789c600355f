import KeychainModel
import Logging
import SecretMemory

/// Writes security events to the log, and passes them to the parts that must act on them.
final class AuditTrail: AuditLog {
    private let logger: Logger
    private let logsAll: Bool
    private let listener = Guarded<Listener?>(nil)

    /// A struct around the closure: a generic that holds a bare closure wraps it once more each time it is read.
    private struct Listener {
        let hear: @Sendable (AuditEvent) -> Void
    }

    init(_ logger: Logger) {
        self.logger = logger
        logsAll = logger.logLevel <= .info
    }

    /// Calls `body` with each event from now on.
    func listen(_ body: @escaping @Sendable (AuditEvent) -> Void) {
        listener.withLock { $0 = Listener(hear: body) }
    }

    func record(_ event: AuditEvent) {
        logger.log(level: Self.level(of: event.kind), "audit", metadata: Self.fields(of: event))
        listener.withLock { $0 }?.hear(event)
    }

    /// Events below the level notice only go to the log.
    func isHeard(_ kind: AuditEvent.Kind) -> Bool {
        logsAll || Self.level(of: kind) > .info
    }

    private static func fields(of event: AuditEvent) -> Logger.Metadata {
        var fields: Logger.Metadata = [
            "event": "\(event.kind.rawValue)", "outcome": "\(outcome(of: event.kind))",
        ]
        if let caller = event.caller {
            fields["uid"] = "\(caller.uid)"
            fields["pid"] = "\(caller.pid)"
            fields["program"] = "\(caller.program ?? "unknown")"
            if !caller.startedBy.isEmpty { fields["startedBy"] = "\(caller.startedBy)" }
        }
        if !event.factors.isEmpty {
            fields["factors"] = "\(event.factors.map { "\($0)" }.sorted().joined(separator: ","))"
        }
        if !event.detail.isEmpty { fields["detail"] = "\(event.detail)" }
        return fields
    }

    /// The use of an item or a key is only `info`: the authentication for it is an event of its own.
    private static func level(of kind: AuditEvent.Kind) -> Logger.Level {
        switch kind {
        case .itemAccessed, .keyAccessed: .info
        case .tamperDetected, .forgedSignal, .assuranceLowered, .keybagClosed, .requestFailed,
            .backgroundFailed:
            .error
        case .authenticationFailed, .biometryLockedOut, .passcodeDelayed, .enrolmentChanged,
            .itemsInvalidated, .clientRefused, .escrowRefused, .generationUncounted, .formerSealKept,
            .busLost, .changeDelayed,
            .brokerLost:
            .warning
        case .keybagCreated, .authenticationSucceeded, .authenticationCancelled, .keybagUnlocked,
            .keybagLocked, .suspended, .passcodeChanged, .keybagRecovered, .lockoutProtected, .itemsMoved,
            .fingersSwitched, .keybagPutAside, .keychainBackedUp, .generationCounted, .formerSealRemoved,
            .recoveryCodeChanged, .protectionChanged, .namedKeyUsed:
            .notice
        }
    }

    private static func outcome(of kind: AuditEvent.Kind) -> String {
        switch kind {
        case .keybagCreated, .authenticationSucceeded, .keybagUnlocked, .keybagLocked, .passcodeChanged,
            .keybagRecovered, .keychainBackedUp, .keybagPutAside, .lockoutProtected, .itemsMoved,
            .fingersSwitched, .itemAccessed, .keyAccessed, .namedKeyUsed,
            .generationCounted, .formerSealRemoved, .recoveryCodeChanged, .protectionChanged:
            "success"
        case .authenticationFailed, .biometryLockedOut, .passcodeDelayed, .keybagClosed, .clientRefused,
            .escrowRefused, .generationUncounted, .formerSealKept, .changeDelayed:
            "refused"
        case .authenticationCancelled: "cancelled"
        case .requestFailed, .backgroundFailed: "failed"
        case .enrolmentChanged, .itemsInvalidated, .tamperDetected, .forgedSignal, .assuranceLowered,
            .busLost, .brokerLost, .suspended:
            "noticed"
        }
    }
}
