import Foundation
import NIOCore
import NIOPosix
import NIOSSL

/// A server on a real socket that answers as the request's path says.
final class Peer: Sendable {
    let port: Int
    private let channel: any Channel

    /// Listens, with TLS if given a context.
    static func start(tls: NIOSSLContext? = nil) async throws -> Peer {
        let channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    if let tls {
                        try channel.pipeline.syncOperations.addHandler(NIOSSLServerHandler(context: tls))
                    }
                    try channel.pipeline.syncOperations.addHandler(PathHandler())
                }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        return Peer(channel, port: channel.localAddress?.port ?? 0)
    }

    private init(_ channel: any Channel, port: Int) {
        self.channel = channel
        self.port = port
    }

    func stop() async throws { try await channel.close() }
}

/// Reads one request and does what its path says.
private final class PathHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private var text = ""
    private var isAnswered = false

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        text += String(buffer: unwrapInboundIn(data))
        // A TLS handshake is answered with 400, as web servers do.
        if text.utf8.first == 0x16 {
            return write(context, "HTTP/1.1 400 No\r\nContent-Length: 0\r\n\r\n", closes: true)
        }
        guard !isAnswered, let end = text.range(of: "\r\n\r\n") else { return }
        let lines = text[..<end.lowerBound].split(separator: "\r\n")
        let words = lines[0].split(separator: " ")
        let length =
            lines.first { $0.lowercased().hasPrefix("content-length:") }
            .flatMap { Int($0.drop { $0 != " " }.dropFirst()) } ?? 0
        guard words.count == 3, text[end.upperBound...].utf8.count >= length else { return }
        isAnswered = true
        answer(
            context,
            String(words[1]),
            String(words[0]),
            lines.dropFirst().map(String.init),
            String(text[end.upperBound...])
        )
    }

    private func answer(
        _ context: ChannelHandlerContext,
        _ path: String,
        _ method: String,
        _ headers: [String],
        _ body: String
    ) {
        func respond(_ status: Int, _ fields: String = "", _ content: String = "") {
            let length = status == 204 ? "" : "Content-Length: \(content.utf8.count)\r\n"
            write(
                context,
                "HTTP/1.1 \(status) Status\r\nConnection: close\r\n\(length)\(fields)\r\n\(content)",
                closes: true
            )
        }
        switch path {
        case "/echo":
            // Clients may send header names in different case.
            let sent = headers.map { $0.lowercased() }.filter { $0.hasPrefix("x-") || $0.hasPrefix("dpop") }
                .sorted()
            respond(200, "X-Two: a\r\nX-Two: b\r\nDPoP-Nonce: n\r\n", "\(method) \(sent) \(body)")
        case "/moved": respond(302, "Location: /echo\r\n")
        case "/cookie":
            respond(
                200,
                "Set-Cookie: a=b\r\n",
                headers.contains { $0.lowercased().hasPrefix("cookie:") } ? "cookie" : "none"
            )
        case "/204": respond(204)
        case "/404": respond(404, "Content-Type: text/html\r\n", "<html>")
        case "/401": respond(401, "WWW-Authenticate: Bearer error=\"x\"\r\n", "{}")
        case "/500": respond(500)
        case "/limit": respond(200, "", String(repeating: "x", count: 1 << 20))
        case "/large": respond(200, "", String(repeating: "x", count: 1 << 20 + 1))
        case "/endless":
            write(context, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", closes: false)
            pour(context)
        case "/chunked":
            write(
                context,
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n2\r\nab\r\n1\r\nc\r\n0\r\n\r\n",
                closes: true
            )
        case "/half": write(context, "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc", closes: true)
        case "/garbage": write(context, "SSH-2.0-OpenSSH_9.2\r\n", closes: true)
        case "/cut": context.close(promise: nil)
        case "/drip":
            write(context, "HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n", closes: false)
            drip(context)
        default: break  // hangs
        }
    }

    private func write(_ context: ChannelHandlerContext, _ text: String, closes: Bool) {
        let written = context.writeAndFlush(wrapOutboundOut(ByteBuffer(string: text)))
        guard closes else { return }
        let bound = NIOLoopBound(context, eventLoop: context.eventLoop)
        written.whenComplete { _ in bound.value.close(promise: nil) }
    }

    /// Sends a byte every 100 ms.
    private func drip(_ context: ChannelHandlerContext) {
        let bound = NIOLoopBound((self, context), eventLoop: context.eventLoop)
        context.eventLoop.scheduleTask(in: .milliseconds(100)) {
            let (handler, context) = bound.value
            guard context.channel.isActive else { return }
            handler.write(context, "x", closes: false)
            handler.drip(context)
        }
    }

    /// Sends chunks as fast as the client reads them.
    private func pour(_ context: ChannelHandlerContext) {
        let bound = NIOLoopBound((self, context), eventLoop: context.eventLoop)
        let chunk = "10000\r\n" + String(repeating: "x", count: 1 << 16) + "\r\n"
        context.writeAndFlush(wrapOutboundOut(ByteBuffer(string: chunk))).whenSuccess {
            let (handler, context) = bound.value
            handler.pour(context)
        }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
}
