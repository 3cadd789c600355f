internal import AccountStore
internal import Foundation
internal import HTTPTypes
internal import Hummingbird
internal import HummingbirdCore
internal import Logging
internal import NIOCore
internal import RelyingParty
public import ServiceLifecycle

/// The server: both ports, the store's maintenance, and an orderly shutdown.
public final class ServerProgram: ServiceLifecycle.Service {
    let current: CurrentService
    /// The certificate of the ports; nil: they speak plain HTTP.
    let tlsFiles: CurrentTLSFiles?
    let connections: Connections
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
        let current = CurrentService(service)
        self.current = current
        self.store = store
        let files = try TLSFiles(configuration)
        if let complaint = files?.complaint(at: Date()) { logger.error("\(complaint)") }
        let tlsFiles = files.map(CurrentTLSFiles.init)
        self.tlsFiles = tlsFiles
        let connections = Connections()
        self.connections = connections
        let ports = ListeningPorts()
        self.ports = ports
        let isSecure = PublicURL(configuration.publicURL)?.scheme == "https"
        let apiRouter = Self.router(
            API.operations,
            current,
            isSecure: isSecure,
            isForPages: true
        )
        let adminRouter = Self.router(AdminAPI.operations, current, isSecure: false, isForPages: false)
        routes = (Self.routes(of: apiRouter), Self.routes(of: adminRouter))
        api = Application(
            router: apiRouter,
            server: Self.builder(configuration, connections, tlsFiles),
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
            server: Self.builder(configuration, connections, configuration.adminTLS ? tlsFiles : nil),
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
    var passwordsInWork: Int { current.value.passwords.pool.depth }

    private static func routes(of router: Router<ServerContext>) -> [String] {
        router.routes.map { "\($0.method.rawValue) \($0.path.description)" }
    }

    private static func router(
        _ operations: [Operation],
        _ current: CurrentService,
        isSecure: Bool,
        isForPages: Bool
    ) -> Router<ServerContext> {
        let router = Router(context: ServerContext.self, options: .autoGenerateHeadEndpoints)
        router.add(
            middleware: Edge(
                current: current,
                operations: operations,
                isSecure: isSecure,
                isForPages: isForPages
            )
        )
        Dispatch(current: current).add(operations, to: router)
        return router
    }

    /// A server, with TLS if there are files; the header fields of a request may have 32 KiB.
    ///
    /// ``RequestDeadline`` also closes idle connections.
    private static func builder(
        _ configuration: ServerConfiguration,
        _ connections: Connections,
        _ files: CurrentTLSFiles?
    ) -> HTTPServerBuilder {
        let time = TimeAmount.seconds(Int64(configuration.requestTimeout))
        return HTTPServerBuilder { responder in
            let channel = HTTP1Channel(
                responder: responder,
                configuration: .init(
                    additionalChannelHandlers: [RequestDeadline(time), ClosingReply()],
                    httpDecoderConfiguration: .init(
                        maxHeaderFieldSize: 16 * 1024,
                        maxHeaderListSize: 32 * 1024,
                        maxHeaderFieldCount: 100
                    )
                )
            )
            let plain = LoopBoundChannel(ServedChannel(channel, connections))
            guard let files else { return plain }
            return RenewableTLSChannel(plain, files)
        }
    }

    /// Runs until the task is cancelled or the service group shuts down: requests in progress are finished, until the
    /// limit of the setting `shutdown-timeout`.
    ///
    /// - Throws: ``ShutdownCut``; an error of a port.
    public func run() async throws {
        let now = Timestamp.now
        await current.value.audit(AuditEvent(.startup, reason: ServerVersion.text), at: now)
        let group = ServiceGroup(
            configuration: .init(
                services: [
                    .init(service: Upkeep(current)), .init(service: AuditHeadService(current)),
                    .init(service: admin), .init(service: api),
                ],
                logger: current.value.logger
            )
        )
        let cut: ShutdownCut?
        do { cut = try await run(group) } catch {
            await end()
            throw error
        }
        await end()
        if let cut { throw cut }
    }

    private func end() async {
        await current.value.audit(AuditEvent(.shutdown), at: .now)
        await store.close()
    }
}
