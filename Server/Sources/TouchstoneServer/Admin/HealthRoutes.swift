internal import AccountStore
internal import Foundation
internal import HTTPTypes
internal import Hummingbird
internal import Logging
internal import RelyingParty
internal import WebAuthnModel

/// Probes and metrics, on the admin port.
enum HealthRoutes {
    static let operations: [Operation] = [
        Operation(.get, "/health/live", "live", .open) { _, _ in .json(["status": "live"]) },
        Operation(.get, "/health/ready", "ready", .open, handle: ready),
        Operation(.get, "/metrics", "metrics", .open, handle: metrics),
    ]

    /// Before this time, when this version was made, the clock is not set: certificates and proofs would be invalid.
    private static let earliest = Timestamp(seconds: 1_767_225_600)

    /// Ready: a row can be written durably, the clock is set, the attestation CA is valid, and password derivations do
    /// not queue up.
    private static func ready(_ service: Service, _ call: Call) async throws -> Reply {
        var failures: [(name: String, value: JSONValue)] = []
        do throws(StoreError) { try await service.store.checkReady(now: call.now) } catch {
            service.logger.error("not ready: \(error)", metadata: ["trace": "\(call.traceID)"])
            failures.append(("store", "cannot be written to"))
        }
        if call.now < earliest { failures.append(("clock", "is not set")) }
        if !service.authority.isValid(at: Date()) { failures.append(("attestationCA", "is not valid now")) }
        if service.passwords.isFull { failures.append(("passwords", "queue up")) }
        guard failures.isEmpty else {
            return .json(
                ["status": "not ready", "failures": .object(JSONObject(failures))],
                status: .serviceUnavailable
            )
        }
        return .json(["status": "ready"])
    }

    private static func metrics(_ service: Service, _ call: Call) async throws -> Reply {
        let metrics = service.metrics
        metrics.gauge("touchstone_password_queue", service.passwords.pool.depth)
        metrics.store(service.store.statistics)
        return .text(metrics.registry.text(), type: "text/plain; version=0.0.4; charset=utf-8")
    }
}
