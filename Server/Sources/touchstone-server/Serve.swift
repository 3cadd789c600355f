internal import ArgumentParser
internal import Foundation
internal import Logging
internal import NIOCore
internal import NIOPosix
internal import ServiceLifecycle
internal import ServiceNotification
internal import TouchstoneServer
internal import UnixSignals

/// `touchstone-server serve`: the default command.
struct Serve: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Serve until SIGTERM or SIGINT; SIGHUP reads the configuration again."
    )

    @OptionGroup var options: ConfigurationOptions

    func run() async throws {
        // Before anything else: a SIGHUP that comes while the server starts is handled when it has.
        EarlyHangups.hold()
        let configuration = try options.read()
        Scheduling.batchThreads(for: configuration)
        // One thread per processor that the process may use, not per processor of the machine.
        NIOSingletons.groupLoopCountSuggestion = Processors.count
        // Tasks run on the event loop of their connection: otherwise each request changes threads twice more, a third
        // of its cost. Where this is not possible, nothing else changes.
        NIOSingletons.unsafeTryInstallSingletonPosixEventLoopGroupAsConcurrencyGlobalExecutor()
        let format = configuration.logFormat
        LoggingSystem.bootstrap { LineLogHandler(label: $0, format: format) }
        var logger = Logger(label: "touchstone-server")
        logger.logLevel = Logger.Level(rawValue: configuration.logLevel) ?? .info
        let environment = ProcessInfo.processInfo.environment
        let manager = ServiceManager(socketPath: environment["NOTIFY_SOCKET"])
        do {
            let program = try await ServerProgram.start(
                configuration,
                sockets: PassedSockets(environment: environment),
                isAlone: true,
                logger: logger
            )
            let hangups = await UnixSignalsSequence(trapping: .sighup)
            let group = ServiceGroup(
                configuration: .init(
                    services: [
                        .init(service: program),
                        .init(
                            service: Announcement(program, configuration, manager, logger),
                            successTerminationBehavior: .ignore
                        ),
                        .init(service: Reloading(program, options, configuration, manager, hangups)),
                    ],
                    gracefulShutdownSignals: [.sigterm, .sigint],
                    logger: logger
                )
            )
            try await group.run()
        } catch {
            throw Failure.report(error, format, logger)
        }
    }
}
