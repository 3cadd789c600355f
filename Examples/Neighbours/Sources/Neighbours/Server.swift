import AsyncHTTPClient
import NIOCore
import NIOHTTP1
import NIOPosix
import NIOSSL

/// Answers every request with a line of text, over TLS, on a free port of this machine.
struct Server {
    let certificate: NIOSSLCertificate
    let port: Int
    private let channel: any Channel

    init(_ bundle: NIOSSLPKCS12Bundle) async throws {
        certificate = bundle.certificateChain[0]
        let context = try NIOSSLContext(
            configuration: .makeServerConfiguration(
                certificateChain: bundle.certificateChain.map { .certificate($0) },
                privateKey: .privateKey(bundle.privateKey)
            )
        )
        channel = try await ServerBootstrap(group: .singletonMultiThreadedEventLoopGroup)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(NIOSSLServerHandler(context: context))
                    try channel.pipeline.syncOperations.configureHTTPServerPipeline()
                    try channel.pipeline.syncOperations.addHandler(Greeter())
                }
            }
            .bind(host: "localhost", port: 0).get()
        port = channel.localAddress?.port ?? 0
    }

    func stop() async throws { try await channel.close() }
}

private final class Greeter: ChannelInboundHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias OutboundOut = HTTPServerResponsePart

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard case .end = unwrapInboundIn(data) else { return }
        let body = ByteBuffer(string: "hello")
        let headers: HTTPHeaders = ["content-length": "\(body.readableBytes)"]
        context.write(
            wrapOutboundOut(.head(.init(version: .http1_1, status: .ok, headers: headers))),
            promise: nil
        )
        context.write(wrapOutboundOut(.body(.byteBuffer(body))), promise: nil)
        context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
    }
}

/// Sends requests to a server with a known certificate.
struct Client {
    private let configuration: TLSConfiguration

    init(trusting certificate: NIOSSLCertificate) {
        var configuration = TLSConfiguration.makeClientConfiguration()
        configuration.trustRoots = .certificates([certificate])
        self.configuration = configuration
    }

    func get(port: Int) async throws -> String {
        let client = HTTPClient(configuration: .init(tlsConfiguration: configuration))
        do {
            let response = try await client.execute(
                HTTPClientRequest(url: "https://localhost:\(port)/"),
                timeout: .seconds(60)
            )
            let body = try await response.body.collect(upTo: 1024)
            try await client.shutdown()
            return String(buffer: body)
        } catch {
            try await client.shutdown()
            throw error
        }
    }
}
