internal import ArgumentParser
internal import Foundation
internal import Logging
internal import NIOCore
internal import NIOPosix
internal import ServiceLifecycle
internal import TouchstoneServer
internal import UnixSignals

/// `touchstone-server serve`: what it does by default.
struct Serve: AsyncParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Serve until SIGTERM or SIGINT.")

    @OptionGroup var options: ConfigurationOptions

    func run() async throws {
        let configuration = try options.read()
        // As many threads as the process may use processors, and not as the machine has.
        NIOSingletons.groupLoopCountSuggestion = Processors.count
        // Tasks run where their connection is read and written: without it each request changes threads twice more, which
        // is a third of its cost. Where it is not possible nothing else changes.
        NIOSingletons.unsafeTryInstallSingletonPosixEventLoopGroupAsConcurrencyGlobalExecutor()
        LoggingSystem.bootstrap { LateMetadata(StreamLogHandler.standardError(label: $0)) }
        var logger = Logger(label: "touchstone-server")
        logger.logLevel = Logger.Level(rawValue: configuration.logLevel) ?? .info
        do {
            let program = try await ServerProgram.start(configuration, isAlone: true, logger: logger)
            logger.info(
                "serving",
                metadata: [
                    "public-url": "\(configuration.publicURL)", "rp-id": "\(configuration.relyingPartyID)",
                    "origins": "\(configuration.acceptedOrigins.joined(separator: " "))",
                    "version": "\(ServerVersion.text)",
                ]
            )
            if let token = try await program.offerFirstAdministrator() {
                Self.printOffer(token, configuration)
            }
            let group = ServiceGroup(
                configuration: .init(
                    services: [.init(service: program)],
                    gracefulShutdownSignals: [.sigterm, .sigint],
                    logger: logger
                )
            )
            try await group.run()
        } catch {
            throw Failure.report(error)
        }
    }

    /// On standard output, not in the log: it opens the server for whoever reads it first.
    private static func printOffer(_ token: String, _ configuration: ServerConfiguration) {
        let address = "http://\(configuration.adminListen.host):\(configuration.adminListen.port)"
        let text = """
            There is no administrator yet. This token makes one, once, within a day:

              \(token)

              curl -X POST \(address)/admin/v1/bootstrap -H 'Content-Type: application/json' \\
                -d '{"token": "\(token)", "name": "me"}'


            """
        FileHandle.standardOutput.write(Data(text.utf8))
    }
}
