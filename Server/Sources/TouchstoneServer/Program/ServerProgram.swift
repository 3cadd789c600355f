internal import AccountStore
internal import Foundation
internal import HTTPTypes
internal import Hummingbird
internal import HummingbirdCore
internal import HummingbirdTLS
internal import Logging
internal import NIOCore
internal import RelyingParty
public import ServiceLifecycle

/// The server: both ports, the store's maintenance, and an orderly shutdown.
public final class ServerProgram: ServiceLifecycle.Service {
    private let service: Service
    private let api: Application<RouterResponder<ServerContext>>
    private let admin: Application<RouterResponder<ServerContext>>
    let store: any AccountStore
    /// The routes of each port, such as `GET /v1/me`.
    let routes: (api: [String], admin: [String])
    /// Both ports, once the server listens: for tests, and for ports chosen by the system.
    public let ports: ListeningPorts

    /// Prepares a server on an open and migrated store.
    ///
    /// - Throws: ``ConfigurationFault``; an error of the store or of TLS.
    init(
        _ configuration: ServerConfiguration,
        store: any AccountStore,
        registry: PrometheusRegistry,
        logger: Logger
    ) async throws {
        let service = try await Service(configuration, store: store, registry: registry, logger: logger)
        self.service = service
        self.store = store
        let ports = ListeningPorts()
        self.ports = ports
        let isSecure = PublicURL(configuration.publicURL)?.scheme == "https"
        let apiRouter = Self.router(
            API.operations,
            service,
            isSecure: isSecure,
            origins: configuration.corsOrigins
        )
        let adminRouter = Self.router(AdminAPI.operations, service, isSecure: false)
        routes = (Self.routes(of: apiRouter), Self.routes(of: adminRouter))
        api = Application(
            router: apiRouter,
            server: try Self.builder(configuration, logger),
            configuration: .init(
                address: .hostname(configuration.listen.host, port: configuration.listen.port),
                reuseAddress: true,
                availableConnectionsDelegate: MaximumAvailableConnections(Descriptors.connections())
            ),
            onServerRunning: { ports.set(api: $0.localAddress?.port) },
            logger: logger
        )
        admin = Application(
            router: adminRouter,
            server: Self.plain(configuration),
            configuration: .init(
                address: .hostname(configuration.adminListen.host, port: configuration.adminListen.port),
                reuseAddress: true,
                availableConnectionsDelegate: MaximumAvailableConnections(Descriptors.adminConnections)
            ),
            onServerRunning: { ports.set(admin: $0.localAddress?.port) },
            logger: logger
        )
    }

    /// The number of password derivations running or waiting.
    var passwordsInWork: Int { service.passwords.pool.depth }

    private static func routes(of router: Router<ServerContext>) -> [String] {
        router.routes.map { "\($0.method.rawValue) \($0.path.description)" }
    }

    private static func router(
        _ operations: [Operation],
        _ service: Service,
        isSecure: Bool,
        origins: Set<String> = []
    ) -> Router<ServerContext> {
        let router = Router(context: ServerContext.self)
        router.add(
            middleware: Edge(
                service: service,
                operations: operations,
                isSecure: isSecure,
                crossOrigin: CrossOrigin(origins: origins)
            )
        )
        Dispatch(service: service).add(operations, to: router)
        return router
    }

    /// A server without TLS; the header fields of a request may have 32 KiB.
    ///
    /// ``RequestDeadline`` also closes idle connections.
    private static func plain(_ configuration: ServerConfiguration) -> HTTPServerBuilder {
        let time = TimeAmount.seconds(Int64(configuration.requestTimeout))
        return HTTPServerBuilder { responder in
            LoopBoundChannel(
                HTTP1Channel(
                    responder: responder,
                    configuration: .init(
                        additionalChannelHandlers: [RequestDeadline(time)],
                        httpDecoderConfiguration: .init(
                            maxHeaderFieldSize: 16 * 1024,
                            maxHeaderListSize: 32 * 1024,
                            maxHeaderFieldCount: 100
                        )
                    )
                )
            )
        }
    }

    private static func builder(_ configuration: ServerConfiguration, _ logger: Logger) throws
        -> HTTPServerBuilder
    {
        guard let files = try TLSFiles(configuration) else { return plain(configuration) }
        if let complaint = files.complaint(at: Date()) { logger.error("\(complaint)") }
        return try .tls(plain(configuration), tlsConfiguration: files.configuration)
    }

    /// Runs until the task is cancelled or the service group shuts down: requests in progress are finished.
    public func run() async throws {
        let now = Timestamp.now
        await service.audit(AuditEvent(.startup, reason: ServerVersion.text), at: now)
        let group = ServiceGroup(
            configuration: .init(
                services: [
                    .init(service: Upkeep(service)), .init(service: admin), .init(service: api),
                ],
                logger: service.logger
            )
        )
        do {
            try await group.run()
        } catch {
            await end()
            throw error
        }
        await end()
    }

    private func end() async {
        await service.audit(AuditEvent(.shutdown), at: .now)
        await service.store.close()
    }
}
