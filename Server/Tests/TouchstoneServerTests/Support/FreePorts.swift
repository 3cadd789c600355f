import AsyncHTTPClient
import Foundation
import NIOCore
import NIOHTTP1
import NIOPosix
import Testing

/// Two ports that were free a moment ago, for a program to listen on.
struct FreePorts: Sendable {
    let api: Int
    let admin: Int

    init() throws {
        // Both bound at the same time, so that they differ.
        let bootstrap = ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
        let channels = try (0..<2).map { _ in try bootstrap.bind(host: "127.0.0.1", port: 0).wait() }
        let ports = channels.compactMap { $0.localAddress?.port }
        for channel in channels { try channel.close().wait() }
        api = ports[0]
        admin = ports[1]
    }

    var environment: [String: String] {
        [
            "TOUCHSTONE_SERVER_LISTEN": "127.0.0.1:\(api)",
            "TOUCHSTONE_SERVER_ADMIN_LISTEN": "127.0.0.1:\(admin)",
            "TOUCHSTONE_SERVER_CEREMONIES_PER_MINUTE": "100000",
            "TOUCHSTONE_SERVER_PASSWORDS_PER_MINUTE": "100000",
            "TOUCHSTONE_SERVER_PASSWORD_COST": "10,8,1",
        ]
    }

    /// A program that serves on both ports with the settings of `directory`, as requests of tests see it.
    func server(in directory: String) throws -> TestServer {
        TestServer(
            api: "http://127.0.0.1:\(api)",
            admin: "http://127.0.0.1:\(admin)",
            program: nil,
            configuration: try TestServer.configuration(directory),
            adminToken: ""
        )
    }

    /// Waits until both ports accept connections.
    func wait(_ process: BuiltProgram) async throws {
        for _ in 0..<1200 {
            let (api, admin) = (
                try? await status("/.well-known/webauthn", port: api),
                try? await status("/health/live", port: admin)
            )
            if api == 200, admin == 200 { return }
            try await Task.sleep(for: .milliseconds(50))
        }
        Issue.record("\(try await process.output(until: nil))")
    }

    /// The status of a GET request for a path.
    func status(_ path: String, port: Int, scheme: String = "http") async throws -> Int {
        let request = HTTPClientRequest(url: "\(scheme)://127.0.0.1:\(port)\(path)")
        return Int(try await HTTPClient.shared.execute(request, timeout: .seconds(60)).status.code)
    }
}
