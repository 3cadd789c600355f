internal import AccountStore
internal import Foundation
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
    private let api: Listener
    private let admin: Listener
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
        sockets: PassedSockets,
        store: any AccountStore,
        registry: PrometheusRegistry,
        logger: Logger
    ) async throws {
        try sockets.check(configuration)
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
        api = Listener(
            address: configuration.listen,
            socket: sockets.http,
            mostConnections: Descriptors.connections(),
            responder: apiRouter.buildResponder(),
            makeChannel: Self.channels(configuration, connections, tlsFiles),
            isListening: { ports.set(api: $0) },
            logger: logger
        )
        admin = Listener(
            address: configuration.adminListen,
            socket: sockets.admin,
            mostConnections: Descriptors.adminConnections,
            responder: adminRouter.buildResponder(),
            makeChannel: Self.channels(configuration, connections, configuration.adminTLS ? tlsFiles : nil),
            isListening: { ports.set(admin: $0) },
            logger: logger
        )
    }

    /// The host of the administrators' port: of the setting, or of the socket that the service manager passed.
    public var adminHost: String { (admin.socket?.address ?? admin.address).host }

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

    /// Makes the channels of connections, with TLS if there are files; the header fields of a request may have 32 KiB.
    ///
    /// ``RequestDeadline`` also closes idle connections.
    private static func channels(
        _ configuration: ServerConfiguration,
        _ connections: Connections,
        _ files: CurrentTLSFiles?
    ) -> @Sendable (@escaping HTTPChannelHandler.Responder) -> any ServerChildChannel {
        let time = TimeAmount.seconds(Int64(configuration.requestTimeout))
        return { responder in
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
                    .init(service: MailService(current)), .init(service: admin), .init(service: api),
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
