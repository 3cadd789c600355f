import AuthenticationEngine
import BrokerDriver
import Desk
import FingerprintDriver
import KeychainEngine
import KeychainModel
import KeychainServer
import Logging
import PeerSockets
import PinentryDriver
import SSHAgentServer

/// The daemon's parts, connected: the one place that knows them all.
struct Keychain: Sendable {
    let authenticator: AuthenticationEngine
    let engine: KeychainEngine
    let server: KeychainServer
    /// The ssh-agent.
    let agent: SSHAgentServer
    let sensorWatch: SensorWatch
    /// The owner's sessions.
    let sessionWatch: SessionWatch
    /// The screen savers of the session bus; nil in system mode, without that bus, and if the settings lock on no screen.
    let screenSaverWatch: ScreenSaverWatch?
    /// When a key was last used.
    let keyActivity: KeyActivity
    /// Which programs got which secrets.
    let reads: ReadLog

    /// Opens the keychain and connects the parts; nothing listens yet or is connected to the system bus.
    init(
        owner: Owner,
        mode: DaemonMode,
        layout: Layout,
        settings: Configuration,
        parts: DaemonParts,
        accessGroups: AccessGroupManifest,
        sensors: SensorTable,
        pinentry: PinentryEnvironment,
        home: String?,
        audit: AuditTrail,
        logger: Logger
    ) throws(StartError) {
        let agents = try Agents.find(mode, settings, parts)
        let broker = mode == .system ? Self.broker(parts, audit) : nil
        let reader = Self.reader(settings, parts, sensors, broker.map { ($0, owner) }, audit)
        sessionWatch = Self.sessionWatch(owner, settings, parts, audit, logger)
        screenSaverWatch = Self.screenSaverWatch(settings, pinentry, audit)
        let theftGuard: TheftGuard
        let publicKeys: PublicKeysFile
        do throws(KeychainError) {
            let directory = try StoreDirectory(path: layout.dataDirectory)
            publicKeys = PublicKeysFile(directory: directory)
            let (hardware, obstacle) = Hardware.find(
                settings,
                transport: parts.tpm,
                notes: HardwareNotesFile(directory: directory)
            )
            let sealer = DeviceSealer(
                file: FileKeySealer(directory: directory, isKeptFromOwner: mode == .system),
                hardware: hardware?.sealer,
                obstacle: obstacle
            )
            engine = try KeychainEngine(
                directory: directory,
                sealer: sealer,
                counters: hardware?.counters,
                privateKeys: hardware?.privateKeys,
                attester: hardware?.attester,
                derivation: parts.derivation,
                groupsInSection: parts.groupsInSection,
                mostItems: parts.mostItems,
                hidesNamesWhileLocked: settings.hidesNamesWhileLocked,
                delays: parts.delays,
                isForTests: parts.areForTests,
                audit: audit
            )
            theftGuard = TheftGuard(
                vault: engine.items,
                owners: engine.items,
                places: NetworkManagerPlaces(busAddress: parts.bus),
                clock: parts.clock,
                audit: audit
            )
            reads = ReadLog(
                vault: engine.items,
                owners: engine.items,
                audit: audit,
                keeps: settings.keepsReads,
                hidesNamesWhileLocked: settings.hidesNamesWhileLocked,
                now: KeychainEngine.systemWallClock
            )
            authenticator = AuthenticationEngine(
                reader: reader,
                prompter: Self.prompter(settings, parts, pinentry, owner, agents),
                keybag: engine.keybag,
                attempts: engine.attempts,
                clock: parts.clock,
                audit: audit,
                seats: sessionWatch,
                credentialGuard: theftGuard,
                configuration: Self.figures(owner, settings)
            )
        } catch {
            throw StartError(error, opening: layout.dataDirectory)
        }
        let fault = PromptFault(Self.prompter(settings, parts, pinentry, owner, agents))
        let desk = Desk(
            services: KeychainServices(
                authenticator: authenticator,
                keybag: engine.keybag,
                vault: engine.items,
                keys: engine.keys,
                migration: KeychainServices.Migration(mover: authenticator, archive: engine.archive),
                backupRequirement: settings.backupRequirement,
                trust: settings.trust,
                owners: engine.items,
                theftGuard: theftGuard,
                reads: reads,
                audit: audit,
                clock: parts.clock,
                daemonVersion: ProductVersion.text,
                startFault: StartTracer.finding,
                lockTriggers: settings.lockOn,
                sessionsFault: { [sessionWatch] in
                    settings.lockOn.needsSessions ? await sessionWatch.fault() : nil
                },
                screenSaver: { [screenSaverWatch] in await screenSaverWatch?.heard()?.rawValue },
                promptFault: { await fault(at: $0) },
                brokerFault: { await broker?.fault() }
            ),
            limits: DeskLimits(longestRequest: Frame.longest),
            agents: agents?.roster
        )
        let identity = ClientIdentity(manifest: accessGroups, knowsDoorByPath: mode != .system)
        do throws(ServerError) {
            server = try KeychainServer(
                desk: desk,
                identity: identity,
                namer: broker.map(BrokerNamer.init),
                owner: owner,
                agentGroup: agents?.groupNumber,
                doorGroup: SecretsDoorGroup.find(parts)
            )
            agent = try SSHAgentServer(
                desk: desk,
                identity: identity,
                namer: broker.map(BrokerNamer.init),
                owner: owner,
                names: HostNames(home: home),
                notes: publicKeys
            )
        } catch {
            throw StartError(error)
        }
        sensorWatch = SensorWatch(reader: reader, watchers: desk.watchers)
        keyActivity = desk.keyActivity
        // Proofs made for the old keys, for the old fingers or before a sleep are no longer valid.
        audit.listen { event in
            switch event.kind {
            case .keybagLocked:
                desk.forgetProofs()
                desk.lockTimer.cancel()
            case .enrolmentChanged, .suspended: desk.forgetProofs()
            case .keybagCreated, .keybagUnlocked, .authenticationSucceeded: desk.keyActivity.note()
            default: break
            }
            desk.watchers.tell(of: event)
        }
    }

    private static func broker(_ parts: DaemonParts, _ audit: AuditTrail) -> Broker {
        Broker(at: parts.broker) { audit.record(AuditEvent(.brokerLost, detail: $0)) }
    }

    private static func reader(
        _ settings: Configuration,
        _ parts: DaemonParts,
        _ sensors: SensorTable,
        _ system: (broker: Broker, owner: Owner)?,
        _ audit: AuditTrail
    ) -> any FingerprintReader {
        guard settings.usesBiometry else { return BiometryOff() }
        let forgeries = RepeatedEvent(.forgedSignal, audit)
        return FprintReader(
            busAddress: parts.bus,
            // With nil, fprintd uses the calling user, which needs no right to name another user.
            user: system?.owner.name,
            templateDirectory: parts.templateDirectory,
            templates: system.map { BrokerTemplates($0.broker, of: $0.owner.uid) },
            grade: { sensors.grade(of: $0) },
            onForgedSignal: { forgeries.record() },
            onBusLost: { audit.record(AuditEvent(.busLost)) }
        )
    }

    private static func sessionWatch(
        _ owner: Owner,
        _ settings: Configuration,
        _ parts: DaemonParts,
        _ audit: AuditTrail,
        _ logger: Logger
    ) -> SessionWatch {
        let forgeries = RepeatedEvent(.forgedSignal, audit)
        return SessionWatch(
            busAddress: parts.bus,
            userID: owner.uid,
            // Otherwise the sensor's driver delays it.
            delaysSleep: settings.lockOn.sleep && !settings.usesBiometry,
            onForgedSignal: { forgeries.record() },
            onFault: { logger.info("the sessions are not watched", metadata: ["reason": "\($0)"]) }
        )
    }

    private static func screenSaverWatch(
        _ settings: Configuration,
        _ session: PinentryEnvironment,
        _ audit: AuditTrail
    ) -> ScreenSaverWatch? {
        let bus = session.sessionBus ?? session.runtimeDirectory.map { "unix:path=\($0)/bus" }
        guard settings.lockOn.screen, let address = bus.flatMap(ScreenSaver.localBus) else { return nil }
        let forgeries = RepeatedEvent(.forgedSignal, audit)
        return ScreenSaverWatch(bus: address, onForgedSignal: { forgeries.record() })
    }

    private static func prompter(
        _ settings: Configuration,
        _ parts: DaemonParts,
        _ session: PinentryEnvironment,
        _ owner: Owner,
        _ agents: Agents?
    ) -> any SecretPrompter {
        if let agents { return AgentPrompter(agents.roster) }
        let program =
            parts.pinentry ?? settings.pinentryProgram.map { PinentryProgram([$0]) } ?? PinentryProgram()
        return PinentryPrompter(
            program: program,
            user: owner.uid,
            trust: settings.trust,
            environment: session
        )
    }

    private static func figures(
        _ owner: Owner,
        _ settings: Configuration
    ) -> AuthenticationConfiguration {
        var figures = AuthenticationConfiguration()
        figures.locksKeybagOnSuspend = settings.lockOn.sleep
        // A passcode must not be built from the user name.
        figures.userName = owner.name
        return figures
    }
}
