import AuthenticationEngine
import FingerprintDriver
import KeychainEngine
import KeychainModel
import KeychainServer
import Logging
import PinentryDriver

/// The parts of the daemon, put together: the one place that knows them all.
struct Keychain: Sendable {
    let authenticator: AuthenticationEngine
    let engine: KeychainEngine
    let server: KeychainServer

    /// Opens the keychain and connects the parts; nothing listens yet, and nobody is on the system bus.
    init(
        layout: Layout,
        settings: Configuration,
        parts: DaemonParts,
        accessGroups: AccessGroupManifest,
        pinentry: PinentryEnvironment,
        audit: AuditTrail
    ) throws(StartError) {
        do throws(KeychainError) {
            let directory = try StoreDirectory(path: layout.dataDirectory)
            let (hardware, obstacle) = Hardware.find(
                settings,
                transport: parts.tpm,
                notes: HardwareNotesFile(directory: directory)
            )
            let sealer = DeviceSealer(
                file: FileKeySealer(directory: directory),
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
                isForTests: parts.areForTests,
                audit: audit
            )
            authenticator = AuthenticationEngine(
                reader: Self.reader(settings, parts, audit),
                prompter: Self.prompter(settings, parts, pinentry),
                keybag: engine,
                attempts: engine.attempts,
                clock: parts.clock,
                audit: audit,
                configuration: Self.figures()
            )
        } catch {
            throw StartError(error, opening: layout.dataDirectory)
        }
        let fault = PromptFault(Self.prompter(settings, parts, pinentry))
        do throws(ServerError) {
            server = try KeychainServer(
                services: KeychainServices(
                    authenticator: authenticator,
                    keybag: engine,
                    vault: engine,
                    keys: engine,
                    migration: KeychainServices.Migration(mover: authenticator, archive: engine),
                    owners: engine,
                    audit: audit,
                    daemonVersion: ProductVersion.text,
                    promptFault: { await fault(at: $0) }
                ),
                identity: ClientIdentity(manifest: accessGroups)
            )
        } catch {
            throw StartError(error)
        }
        // What was shown for the old keys or the old fingers opens nothing any more.
        audit.listen { [server] event in
            if event.kind == .keybagLocked || event.kind == .enrolmentChanged { server.forgetProofs() }
        }
    }

    private static func reader(
        _ settings: Configuration,
        _ parts: DaemonParts,
        _ audit: AuditTrail
    ) -> any FingerprintReader {
        guard settings.usesBiometry else { return BiometryOff() }
        let forgeries = RepeatedEvent(.forgedSignal, audit)
        return FprintReader(
            busAddress: parts.bus,
            templateDirectory: parts.templateDirectory,
            onForgedSignal: { forgeries.record() },
            onBusLost: { audit.record(AuditEvent(.busLost)) }
        )
    }

    private static func prompter(
        _ settings: Configuration,
        _ parts: DaemonParts,
        _ session: PinentryEnvironment
    ) -> PinentryPrompter {
        let program =
            parts.pinentry ?? settings.pinentryProgram.map { PinentryProgram([$0]) } ?? PinentryProgram()
        return PinentryPrompter(program: program, environment: session)
    }

    private static func figures() -> AuthenticationConfiguration {
        var figures = AuthenticationConfiguration()
        figures.userName = UserName.current()
        return figures
    }
}
