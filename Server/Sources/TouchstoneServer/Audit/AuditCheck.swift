internal import AccountStore
internal import Foundation
internal import WebAuthnModel

extension ServerProgram {
    /// Checks the hash chains of the whole audit in the configured store, which servers may use meanwhile.
    ///
    /// - Parameters:
    ///   - configuration: the settings.
    ///   - head: a file of heads, or a head in hexadecimal that has to be in the file of `audit-head-file`; the events are
    ///     compared with the file. nil: only the chains are checked.
    ///   - progress: gets the number of events checked so far, from time to time.
    /// - Returns: what was checked, in words.
    /// - Throws: ``AuditTampering``; ``StartError`` for a store that cannot be read; ``ConfigurationFault`` for the file.
    public static func verifyAudit(
        _ configuration: ServerConfiguration,
        head: String?,
        progress: (_ events: Int) -> Void = { _ in }
    ) async throws -> String {
        let heads = try head.map { try HeadComparison($0, configuration) }
        let store = try StoreOpener.openThatExists(configuration)
        do {
            let text = try await check(store, configuration, heads, progress)
            await store.close()
            return text
        } catch {
            await store.close()
            throw (error as? StoreError).map { StoreOpener.failure($0, configuration) } ?? error
        }
    }

    private static func check(
        _ store: any AccountStore,
        _ configuration: ServerConfiguration,
        _ heads: HeadComparison?,
        _ progress: (_ events: Int) -> Void
    ) async throws -> String {
        let verifier = AuditVerifier(store, keepsAll: configuration.auditRetention == 0)
        switch try await verifier.verify(progress: progress) {
        case .flawed(let flaw): throw AuditTampering(description: flaw.text)
        case .whole(let records, let chains):
            let text = "the audit log is whole: events: \(records), chains: \(chains)"
            guard var heads else { return "\(text); whether it has its end only --head tells" }
            try await heads.compare(store, now: .now)
            return "\(text); \(heads.text)"
        }
    }
}

/// The audit log is not as it was written.
public struct AuditTampering: Error, Sendable, Equatable, CustomStringConvertible {
    /// The first place that is not.
    public let description: String
}

extension AuditFlaw {
    /// What is wrong and where, for people.
    fileprivate var text: String {
        let owner =
            account.map { "account \(Base64URL.encode($0.bytes))" }
            ?? "the server's chain \(place.chain.hexadecimal)"
        let event = "event \(place.sequence) of \(owner) (position \(position))"
        return switch kind {
        case .changed: "the audit log was changed: \(event) is not as it was written"
        case .missing: "the audit log was changed: \(event) is gone, and had not expired"
        case .missingAfter:
            "the audit log was changed: what follows \(event) is missing or of another history"
        case .beginningMissing:
            "the audit log was changed: events before \(event) are missing, and audit-retention = 0 keeps all"
        }
    }
}
