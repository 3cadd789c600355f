internal import HTTPTypes
internal import Hummingbird
internal import HummingbirdCore
internal import Logging
internal import NIOCore
internal import NIOExtras
internal import NIOHTTP1
internal import NIOPosix
internal import ServiceLifecycle

/// One port: accepts connections at an address, or on a socket that the service manager passed, until the service group
/// shuts down.
///
/// It does what `Application` of Hummingbird does, which cannot take a socket.
struct Listener: ServiceLifecycle.Service {
    /// The address, unless there is a socket.
    let address: ListenAddress
    /// The socket; nil: one is bound to ``address``.
    let socket: PassedSocket?
    /// The most connections at a time; further ones wait in the system's queue.
    let mostConnections: Int
    let responder: RouterResponder<ServerContext>
    /// Makes the channel of each connection.
    let makeChannel: @Sendable (@escaping HTTPChannelHandler.Responder) -> any ServerChildChannel
    /// Called once it listens, with the port.
    let isListening: @Sendable (_ port: Int?) -> Void
    let logger: Logger

    /// How many connections wait in the system's queue.
    private static let backlog: CInt = 256

    /// Serves until the graceful shutdown, and then until the last request in progress has ended.
    ///
    /// - Throws: an error of the system when the address cannot be bound.
    func run() async throws { try await serve(makeChannel(respond)) }

    private func serve(_ child: some ServerChildChannel) async throws {
        let group = MultiThreadedEventLoopGroup.singleton
        let quiescing = ServerQuiescingHelper(group: group)
        let mostConnections = mostConnections
        let bootstrap = ServerBootstrap(group: group)
            .serverChannelOption(.backlog, value: Self.backlog)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .childChannelOption(.allowRemoteHalfClosure, value: true)
            .serverChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    let pipeline = channel.pipeline.syncOperations
                    try pipeline.addHandler(
                        AvailableConnectionsChannelHandler(maxConnections: mostConnections)
                    )
                    try pipeline.addHandler(quiescing.makeServerChannelHandler(channel: channel))
                }
            }
        let logger = logger
        let initialise = { @Sendable (channel: any Channel) in child.setup(channel: channel, logger: logger) }
        let listening =
            if let socket {
                try await bootstrap.bind(socket.descriptor, childChannelInitializer: initialise)
            } else {
                try await bootstrap.bind(
                    host: address.host,
                    port: address.port,
                    childChannelInitializer: initialise
                )
            }
        let port = listening.channel.localAddress?.port
        let name = ListenAddress(host: (socket?.address ?? address).host, port: port ?? address.port).text
        logger.info("listening on \(name)\(socket == nil ? "" : ", a passed socket")")
        await withGracefulShutdownHandler {
            isListening(port)
            await withDiscardingTaskGroup { tasks in
                do {
                    try await listening.executeThenClose { connections in
                        for try await connection in connections {
                            tasks.addTask { await child.handle(value: connection, logger: logger) }
                        }
                    }
                } catch is CancellationError {
                } catch {
                    logger.error("\(name): \(error)")
                }
            }
        } onGracefulShutdown: {
            quiescing.initiateShutdown(promise: nil)
        }
    }

    /// Responds to a request; middlewares have made responses of all errors but those of the connection.
    @concurrent
    @Sendable
    private func respond(
        _ request: Request,
        _ writer: consuming ResponseWriter,
        _ channel: any Channel
    ) async throws {
        let context = ServerContext(source: ApplicationRequestContextSource(channel: channel, logger: logger))
        var response: Response
        do { response = try await responder.respond(to: request, context: context) } catch let error
            as HTTPParserError
        {
            throw error
        } catch {
            logger.debug("\(error)")
            response = Response(status: .internalServerError)
        }
        response.headers[.date] = DateField.text
        do { try await writer.write(response: response.head, body: response.body) } catch is HTTPParserError {
            // As a parser's error it would be answered, after a part of this response.
            throw CutResponse()
        }
    }
}

/// The client's bytes became invalid while a response was sent.
private struct CutResponse: Error {}
