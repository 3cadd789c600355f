internal import ArgumentParser
internal import Foundation
internal import Logging
internal import NIOCore
internal import NIOPosix
internal import ServiceLifecycle
internal import TouchstoneServer
internal import UnixSignals

/// `touchstone-server serve`: the default command.
struct Serve: AsyncParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Serve until SIGTERM or SIGINT.")

    @OptionGroup var options: ConfigurationOptions

    func run() async throws {
        let configuration = try options.read()
        Scheduling.batchThreads(for: configuration)
        // One thread per processor that the process may use, not per processor of the machine.
        NIOSingletons.groupLoopCountSuggestion = Processors.count
        // Tasks run on the event loop of their connection: otherwise each request changes threads twice more, a third
        // of its cost. Where this is not possible, nothing else changes.
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

    /// Printed on standard output, not in the log: it gives administrator access to its first reader.
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
