import AuthenticationEngine
import CLinux
import Desk
import Glibc
import KeychainEngine
import KeychainModel
import KeychainServer
import Logging
import PeerSockets
import Primitives
import SSHAgentServer
import SecretMemory
import ServiceLifecycle
import ServiceNotification
import UnixSignals

/// The daemon's life cycle: socket, keychain, readiness, services, and the shutdown in reverse order.
struct Launch: Sendable {
    let owner: Owner
    let mode: DaemonMode
    let layout: Layout
    let settings: Configuration
    let parts: DaemonParts
    let accessGroups: AccessGroupManifest
    let sensors: SensorTable
    let environment: LaunchEnvironment
    let report: Report?

    /// How long to wait until another daemon that holds the lock listens or has exited.
    private static let patience: Duration = .seconds(5)

    /// Runs the daemon, then exits the process.
    func run() async {
        do throws(StartError) {
            try await serve()
            _exit(0)
        } catch {
            error.tell()
            report?.failed()
            _exit(StartError.exitStatus)
        }
    }

    private func serve() async throws(StartError) {
        do throws(SecretMemoryError) {
            try LockedPages.prepare()
            try LockedStack.prepare()
        } catch {
            throw StartError(error)
        }
        do throws(SelfTest.Failure) {
            try SelfTest.run(parts.knownAnswers)
        } catch {
            throw StartError(error)
        }
        // Before anything is created; the directory itself is checked again once it is locked.
        if let place = MovedKeychain.destination(at: layout.dataDirectory) {
            throw StartError(movedTo: place, from: layout.dataDirectory)
        }
        guard let listener = try listen() else {
            report?.ready()
            return
        }
        let manager = ServiceManager(socketPath: environment.notifySocket)
        let logger = try logger()
        let audit = AuditTrail(logger)
        if let finding = StartTracer.finding { audit.record(AuditEvent(.tamperDetected, detail: finding)) }
        let keychain: Keychain
        do throws(StartError) {
            keychain = try Keychain(
                owner: owner,
                mode: mode,
                layout: layout,
                settings: settings,
                parts: parts,
                accessGroups: accessGroups,
                sensors: sensors,
                pinentry: environment.pinentry,
                home: environment.home,
                audit: audit,
                logger: logger
            )
        } catch {
            listener.removeName()
            throw error
        }
        do throws(ServerError) {
            try keychain.server.start(listener)
        } catch {
            throw StartError(error)
        }
        startAgent(keychain, logger)
        logger.notice("listening", metadata: ["pid": "\(getpid())", "version": "\(ProductVersion.text)"])
        manager.ready(status: "Listening")
        report?.ready()

        await runServices(keychain, logger)
        manager.stopping()
        await keychain.server.stop()
        await keychain.agent.stop()
        await keychain.reads.store()
        await keychain.authenticator.lock()
        // Writes the database's log back: records that are only in the log would be lost with it.
        await keychain.engine.close()
        logger.notice("ended")
    }

    /// Runs the services until SIGTERM, SIGINT, or the idle exit.
    private func runServices(_ keychain: Keychain, _ logger: Logger) async {
        // Shut down in reverse order.
        let services: [any Service] = [
            SensorService(authenticator: keychain.authenticator),
            keychain.sensorWatch,
            DepartureService(
                watch: keychain.sessionWatch,
                screenSavers: keychain.screenSaverWatch,
                triggers: settings.lockOn,
                authenticator: keychain.authenticator,
                logger: logger
            ),
            IdleLockService(
                limit: settings.lockOn.idle,
                activity: keychain.keyActivity,
                keybag: keychain.engine.keybag,
                authenticator: keychain.authenticator,
                logger: logger
            ),
            ServerService(server: keychain.server, agent: keychain.agent),
            IdleService(
                server: keychain.server,
                agent: keychain.agent,
                keybag: keychain.engine.keybag,
                limit: settings.idleExit
            ),
            CodeMemoryService(),
        ]
        let group = ServiceGroup(
            configuration: ServiceGroupConfiguration(
                services: services.map {
                    ServiceGroupConfiguration.ServiceConfiguration(
                        service: $0,
                        successTerminationBehavior: .gracefullyShutdownGroup
                    )
                },
                gracefulShutdownSignals: [.sigterm, .sigint],
                logger: logger
            )
        )
        do {
            try await group.run()
        } catch {
            logger.error("a service failed", metadata: ["reason": "\(error)"])
        }
    }

    /// The listening socket; nil if another daemon of this user already listens and this start needs no more than that.
    private func listen() throws(StartError) -> Listener? {
        let deadline = ContinuousClock.now + Self.patience
        while true {
            do throws(ServerError) {
                if let socket = environment.activationSocket {
                    return try Listener(adopting: socket, layout: layout)
                }
                return try Listener(at: layout)
            } catch {
                guard error == ServerError(.alreadyRunning, ""), report != nil else {
                    throw StartError(error)
                }
                if Listener.isAnswering(at: layout) { return nil }
                // The other daemon is about to listen, or to exit.
                guard ContinuousClock.now < deadline else { throw StartError(error) }
                _ = poll(nil, 0, 10)
            }
        }
    }

    /// Starts the ssh-agent; the keychain is served without it too.
    private func startAgent(_ keychain: Keychain, _ logger: Logger) {
        do throws(ServerError) {
            if let socket = environment.agentSocket {
                try keychain.agent.start(try Listener(adoptingBesideMain: socket))
            } else if mode == .perUser {
                try keychain.agent.start(try Listener(besideMain: layout.agentSocket))
            }
        } catch {
            logger.error("the ssh-agent does not listen", metadata: ["reason": "\(error.detail)"])
        }
    }

    private func logger() throws(StartError) -> Logger {
        let sink: LogSink
        if report == nil {
            sink = LogSink()
        } else {
            do throws(ServerError) {
                try RuntimeDirectory.prepare(layout.dataDirectory)
            } catch {
                throw StartError(error)
            }
            sink = try LogSink(path: layout.dataDirectory + "/daemon.log")
        }
        let level = settings.logLevel
        return Logger(label: "touchstoned") { _ in LineLogHandler(sink: sink, level: level) }
    }
}
