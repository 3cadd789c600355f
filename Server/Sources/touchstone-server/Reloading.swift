internal import Glibc
internal import ServiceLifecycle
internal import ServiceNotification
internal import Synchronization
internal import TouchstoneServer
internal import UnixSignals

/// Reads the configuration again at each SIGHUP.
struct Reloading: ServiceLifecycle.Service {
    private let program: ServerProgram
    private let options: ConfigurationOptions
    private let configuration: ServerConfiguration
    private let manager: ServiceManager
    private let hangups: UnixSignalsSequence

    init(
        _ program: ServerProgram,
        _ options: ConfigurationOptions,
        _ configuration: ServerConfiguration,
        _ manager: ServiceManager,
        _ hangups: UnixSignalsSequence
    ) {
        self.program = program
        self.options = options
        self.configuration = configuration
        self.manager = manager
        self.hangups = hangups
    }

    func run() async throws {
        if EarlyHangups.happened { reload() }
        for await _ in hangups.cancelOnGracefulShutdown() { reload() }
    }

    private func reload() {
        // Before the server listens the report that follows a reload would be too early.
        guard program.ports.areSet else { return program.reload(options.configuration) }
        manager.reloading()
        program.reload(options.configuration)
        manager.ready(status: configuration.managerStatus)
    }
}

/// SIGHUPs that come before the server can handle them: they are handled once it has started.
enum EarlyHangups {
    private static let flag = Atomic(false)

    /// Whether there was one.
    static var happened: Bool { flag.load(ordering: .relaxed) }

    /// Holds them from now on, until another handler takes over; does not wait, so that threads keep their order.
    static func hold() {
        // Initialised here, because a handler of a signal must not.
        flag.store(false, ordering: .relaxed)
        signal(SIGHUP) { _ in EarlyHangups.flag.store(true, ordering: .relaxed) }
    }
}
