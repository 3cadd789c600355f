internal import AccountStore
internal import CoreMetrics
internal import Metrics
internal import Synchronization

/// The server's metrics, with names in Prometheus's style.
struct ServerMetrics: Sendable {
    let registry: PrometheusRegistry
    private let series = KnownSeries()

    init(_ registry: PrometheusRegistry) {
        self.registry = registry
        for (name, help) in Self.help { registry.describe(name, help) }
    }

    /// The names of all metrics of the server itself, with what they are.
    static let help: KeyValuePairs = [
        "touchstone_requests_total": "Requests by route, method and status.",
        "touchstone_request_seconds": "Duration of requests by route.",
        "touchstone_logins_total": "Logins by method and outcome.",
        "touchstone_registrations_total": "Registrations by attestation format and outcome.",
        "touchstone_assertion_verify_seconds": "Verification of one assertion.",
        "touchstone_password_derivation_seconds": "Derivation of one password, waiting included.",
        "touchstone_password_queue": "Derivations that run or wait.",
        "touchstone_refreshes_total": "Uses of refresh tokens by outcome.",
        "touchstone_throttled_total": "Requests that were held up, by limit.",
        "touchstone_audit_failures_total": "Audit records that could not be written.",
        "touchstone_audit_heads_total": "Heads appended to audit-head-file by outcome: written or failed.",
        "touchstone_mail_total": "Deliveries to the mail hook by outcome: delivered, failed or given-up.",
        "touchstone_store_writes_total": "Write transactions, counted as operations.",
        "touchstone_store_commits_total": "Commits that made them durable; several operations may share one.",
        "touchstone_store_reads_total": "Read operations.",
        "touchstone_store_failures_total": "Operations that failed by an error of the database.",
        "touchstone_store_retries_total": "Transactions that were repeated because of concurrent ones.",
        "touchstone_store_busy_seconds_total": "How long the database was busy writing.",
        "touchstone_store_pending": "Operations that wait or run.",
    ]

    private func count(_ name: String, _ labels: [(String, String)]) {
        series.counter(name, labels, registry).increment()
    }

    private func time(_ name: String, _ labels: [(String, String)], _ duration: Duration) {
        let (seconds, attoseconds) = duration.components
        series.timer(name, labels, registry).recordNanoseconds(
            seconds * 1_000_000_000 + attoseconds / 1_000_000_000
        )
    }

    func request(route: String, method: String, status: Int, duration: Duration) {
        count(
            "touchstone_requests_total",
            [("route", route), ("method", Self.known(method)), ("status", "\(status)")]
        )
        time("touchstone_request_seconds", [("route", route)], duration)
    }

    /// The method, or `other` for an unknown one: clients can invent methods.
    static func known(_ method: String) -> String {
        ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"].contains(method) ? method : "other"
    }

    func login(method: String, outcome: String) {
        count("touchstone_logins_total", [("method", method), ("outcome", outcome)])
    }

    func registration(format: String, outcome: String) {
        count("touchstone_registrations_total", [("format", format), ("outcome", outcome)])
    }

    func refresh(_ outcome: String) { count("touchstone_refreshes_total", [("outcome", outcome)]) }
    func throttled(_ limit: String) { count("touchstone_throttled_total", [("limit", limit)]) }
    func auditHead(_ outcome: String) { count("touchstone_audit_heads_total", [("outcome", outcome)]) }
    func mail(_ outcome: String) { count("touchstone_mail_total", [("outcome", outcome)]) }
    func auditFailed() { count("touchstone_audit_failures_total", []) }
    func assertionVerified(in duration: Duration) {
        time("touchstone_assertion_verify_seconds", [], duration)
    }
    func passwordDerived(in duration: Duration) {
        time("touchstone_password_derivation_seconds", [], duration)
    }

    func gauge(_ name: String, _ value: Int) {
        Meter(label: name, factory: registry).set(value)
    }

    /// The store's statistics, which it counts itself.
    func store(_ statistics: StoreStatistics) {
        registry.total("touchstone_store_writes_total", Double(statistics.writes))
        registry.total("touchstone_store_commits_total", Double(statistics.commits))
        registry.total("touchstone_store_reads_total", Double(statistics.reads))
        registry.total("touchstone_store_failures_total", Double(statistics.failures))
        registry.total("touchstone_store_retries_total", Double(statistics.retries))
        registry.total("touchstone_store_busy_seconds_total", statistics.busyTime / .seconds(1))
        gauge("touchstone_store_pending", statistics.pending)
    }
}

/// A cache of series: finding one by the texts of its labels is a large part of a request's remaining cost.
///
/// There are few, because clients cannot invent labels.
private final class KnownSeries: Sendable {
    private struct Key: Hashable {
        let name: String
        let values: [String]
    }

    private let counters = Mutex<[Key: Counter]>([:])
    private let timers = Mutex<[Key: Timer]>([:])

    func counter(_ name: String, _ labels: [(String, String)], _ registry: PrometheusRegistry) -> Counter {
        let key = Key(name: name, values: labels.map(\.1))
        return counters.withLock { known in
            if let counter = known[key] { return counter }
            let counter = Counter(label: name, dimensions: labels, factory: registry)
            known[key] = counter
            return counter
        }
    }

    func timer(_ name: String, _ labels: [(String, String)], _ registry: PrometheusRegistry) -> Timer {
        let key = Key(name: name, values: labels.map(\.1))
        return timers.withLock { known in
            if let timer = known[key] { return timer }
            let timer = Timer(label: name, dimensions: labels, factory: registry)
            known[key] = timer
            return timer
        }
    }
}
