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
        accessGroups: AccessGroupManifest,
        pinentry: PinentryEnvironment,
        audit: AuditTrail
    ) throws(StartError) {
        let test = settings.testParts
        do throws(KeychainError) {
            let directory = try StoreDirectory(path: layout.dataDirectory)
            let (hardware, obstacle) = Hardware.find(settings, notes: HardwareNotesFile(directory: directory))
            let sealer = DeviceSealer(
                file: FileKeySealer(directory: directory),
                hardware: hardware?.sealer,
                obstacle: obstacle
            )
            engine = try KeychainEngine(
                directory: directory,
                sealer: test.isUsed ? TestAssurance(of: sealer) : sealer,
                counters: hardware?.counters,
                privateKeys: hardware?.privateKeys,
                attester: hardware?.attester,
                derivation: test.scryptLog2Rounds.flatMap {
                    PasscodeDerivation.Cost(roundsExponent: $0, blockSize: 8, parallelism: 1)
                },
                audit: audit
            )
            authenticator = AuthenticationEngine(
                reader: Self.reader(settings, audit),
                prompter: Self.prompter(settings, pinentry),
                keybag: engine,
                attempts: engine.attempts,
                clock: SystemBootClock(),
                audit: audit,
                configuration: Self.figures()
            )
        } catch {
            throw StartError(error, opening: layout.dataDirectory)
        }
        let fault = PromptFault(Self.prompter(settings, pinentry))
        do throws(ServerError) {
            server = try KeychainServer(
                services: KeychainServices(
                    authenticator: authenticator,
                    keybag: engine,
                    vault: engine,
                    keys: engine,
                    migration: KeychainServices.Migration(mover: authenticator, archive: engine),
                    audit: audit,
                    daemonVersion: Version.text,
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

    private static func reader(_ settings: Configuration, _ audit: AuditTrail) -> any FingerprintReader {
        guard settings.usesBiometry else { return BiometryOff() }
        let test = settings.testParts
        return FprintReader(
            busAddress: test.systemBusAddress.map {
                .testing($0, ownerUserID: test.busOwnerUserID ?? 0)
            } ?? .system,
            templateDirectory: test.templateDirectory ?? "/var/lib/fprint",
            onForgedSignal: { audit.record(AuditEvent(.forgedSignal)) },
            onBusLost: { audit.record(AuditEvent(.busLost)) }
        )
    }

    private static func prompter(_ settings: Configuration, _ session: PinentryEnvironment)
        -> PinentryPrompter
    {
        let program =
            settings.testParts.pinentryProgram.map { PinentryProgram.testing($0) }
            ?? settings.pinentryProgram.map { PinentryProgram([$0]) }
            ?? PinentryProgram()
        return PinentryPrompter(program: program, environment: session)
    }

    private static func figures() -> AuthenticationConfiguration {
        var figures = AuthenticationConfiguration()
        figures.userName = UserName.current()
        return figures
    }
}
