internal import Foundation
internal import Logging
internal import ServiceLifecycle
internal import TouchstoneServer

/// Tells that the server serves, once it listens on both ports and stops in order on SIGTERM.
struct Announcement: ServiceLifecycle.Service {
    private let program: ServerProgram
    private let configuration: ServerConfiguration
    private let logger: Logger

    init(_ program: ServerProgram, _ configuration: ServerConfiguration, _ logger: Logger) {
        self.program = program
        self.configuration = configuration
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
    }

    /// Printed on standard output, not in the log: it gives administrator access to its first reader.
    private func printOffer(_ token: String, port: Int) {
        let address = ListenAddress(host: configuration.adminListen.host, port: port).text
        let text = """
            There is no administrator yet. This token makes one, once, within a day:

              \(token)

              curl -X POST \(configuration.adminTLS ? "https" : "http")://\(address)/admin/v1/bootstrap \\
                -H 'Content-Type: application/json' -d '{"token": "\(token)", "name": "me"}'


            """
        FileHandle.standardOutput.write(Data(text.utf8))
    }
}
