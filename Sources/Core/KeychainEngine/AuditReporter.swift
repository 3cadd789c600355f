internal import KeychainModel

/// A part of the engine that reports events.
protocol AuditReporter {
    /// Where events are recorded; nil: nowhere.
    var audit: (any AuditLog)? { get }
}

extension AuditReporter {
    func report(_ kind: AuditEvent.Kind, factors: Set<AuthenticationFactor> = [], detail: String = "") {
        audit?.record(AuditEvent(kind, factors: factors, detail: detail))
    }
}
