internal import AccountStore
internal import CoreMetrics
internal import Foundation
public import Logging
internal import Metrics
internal import RelyingParty

extension ServerProgram {
    /// Opens the store and prepares a server.
    ///
    /// - Parameters:
    ///   - configuration: the settings.
    ///   - sockets: the listening sockets that the service manager passed.
    ///   - isAlone: whether this server also exports the metrics of the process's libraries; possible once per process.
    ///   - logger: the logger.
    /// - Returns: the server.
    /// - Throws: ``StartError``.
    public static func start(
        _ configuration: ServerConfiguration,
        sockets: PassedSockets = .none,
        isAlone: Bool = false,
        logger: Logger
    ) async throws -> ServerProgram {
        let registry = PrometheusRegistry()
        if isAlone { MetricsSystem.bootstrap(registry) }
        let store = try StoreOpener.open(configuration, logger)
        do {
            return try await ServerProgram(
                configuration,
                sockets: sockets,
                store: store,
                registry: registry,
                logger: logger
            )
        } catch {
            await store.close()
            switch error {
            case let fault as ConfigurationFault: throw StartError(.configuration, "\(fault)")
            case let error as StoreError: throw StartError(.store, "\(error)")
            default: throw StartError(.configuration, "\(error)")
            }
        }
    }

    /// Creates a one-time token for the first administrator, if there is none yet.
    ///
    /// - Returns: the token, valid for a day; nil when there is an administrator.
    /// - Throws: ``StartError``.
    public func offerFirstAdministrator() async throws -> String? {
        let now = Timestamp.now
        let token = OpaqueToken(.bootstrap, at: now.milliseconds)
        do throws(StoreError) {
            let offer = try await store.offerFirstAdmin(
                TokenDigest(token.digest),
                expiresAt: now + .seconds(86_400),
                now: now
            )
            return offer == .offered ? token.text : nil
        } catch {
            throw StartError(.store, "\(error)")
        }
    }

    /// Migrates the store's schema to the current version, creating it if necessary.
    ///
    /// - Returns: the versions before and after; 0: it was empty.
    /// - Throws: ``StartError``.
    public static func migrate(_ configuration: ServerConfiguration) throws -> (from: Int, to: Int) {
        try StoreOpener.migrate(configuration)
    }
}
