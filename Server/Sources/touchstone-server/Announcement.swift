internal import Foundation
internal import Logging
internal import ServiceLifecycle
internal import ServiceNotification
internal import TouchstoneServer

/// Tells that the server serves, once it listens on both ports and stops in order on SIGTERM: in the log, and to the service
/// manager, which learns of the shutdown too.
struct Announcement: ServiceLifecycle.Service {
    private let program: ServerProgram
    private let configuration: ServerConfiguration
    private let manager: ServiceManager
    private let logger: Logger

    init(
        _ program: ServerProgram,
        _ configuration: ServerConfiguration,
        _ manager: ServiceManager,
        _ logger: Logger
    ) {
        self.program = program
        self.configuration = configuration
        self.manager = manager
        self.logger = logger
    }

    func run() async throws {
        guard let ports = await program.ports.both() else { return }
        logger.info(
            "serving",
            metadata: [
                "public-url": "\(configuration.publicURL)", "rp-id": "\(configuration.relyingPartyID)",
                "origins": "\(configuration.acceptedOrigins.joined(separator: " "))",
                "version": "\(ServerVersion.text)",
            ]
        )
        if let token = try await program.offerFirstAdministrator() { printOffer(token, port: ports.admin) }
        manager.ready(status: configuration.managerStatus)
        // Ends by the shutdown, or by another service's failure.
        try? await gracefulShutdown()
        manager.stopping()
    }

    /// Printed on standard output, not in the log: it gives administrator access to its first reader.
    private func printOffer(_ token: String, port: Int) {
        let address = ListenAddress(host: program.adminHost, port: port).text
        let text = """
            There is no administrator yet. This token makes one, once, within a day:

              \(token)

              curl -X POST \(configuration.adminTLS ? "https" : "http")://\(address)/admin/v1/bootstrap \\
                -H 'Content-Type: application/json' -d '{"token": "\(token)", "name": "me"}'


            """
        FileHandle.standardOutput.write(Data(text.utf8))
    }
}

extension ServerConfiguration {
    /// What the service manager shows of a server that serves.
    var managerStatus: String { "Serving \(publicURL)" }
}
