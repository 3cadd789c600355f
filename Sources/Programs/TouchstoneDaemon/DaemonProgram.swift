import CLinux
import Glibc
import KeychainModel
import PinentryDriver

/// The daemon's main program: hardens itself first, parses its options, and becomes the daemon.
package enum DaemonProgram {
    /// Removes the settings that not every daemon has from a configuration, and makes the daemon's parts of them.
    package typealias PartsReader = (inout [Setting]) throws(Setting.Fault) -> DaemonParts

    /// Runs the daemon and ends the process.
    ///
    /// `startsClean`: restarts without environment variables that could have acted on the process, which some tests
    /// rely on.
    package static func main(
        startsClean: Bool = true,
        parts: PartsReader = { _ throws(Setting.Fault) in DaemonParts() }
    ) {
        do throws(StartError) {
            if startsClean { try LaunchEnvironment.restartWithoutOthers() }
        } catch {
            error.tell()
            _exit(StartError.exitStatus)
        }
        DaemonHardening.begin()
        let options: LaunchOptions
        do throws(StartError) {
            options = try LaunchOptions(CommandLine.arguments.dropFirst())
        } catch {
            error.tell()
            _exit(LaunchOptions.usageStatus)
        }
        do throws(StartError) {
            try run(options, parts)
        } catch {
            error.tell()
            _exit(StartError.exitStatus)
        }
    }

    private static func run(_ options: LaunchOptions, _ parts: PartsReader) throws(StartError) {
        let owner: Owner?
        switch options {
        case .tell(let text): return print(text, terminator: "")
        case .serve(_, let named), .checkConfiguration(let named): owner = named
        }
        let mode: DaemonMode = owner == nil ? .perUser : .system
        if case .serve(_, let owner?) = options { try checkAccount(owner) }
        let environment = LaunchEnvironment.take(systemOwner: owner)
        guard let layout = environment.layout else {
            throw StartError(
                "there is no home directory",
                hint: "set HOME or TOUCHSTONE_HOME to an absolute path"
            )
        }
        if mode == .perUser, let fault = layout.runtimeFault() {
            throw StartError(
                "the socket directory that the environment names cannot be used: \(fault)",
                hint: "unset XDG_RUNTIME_DIR, or log in as this user"
            )
        }
        let (settings, parts) = try Configuration.read(layout.configurationFile, mode, parts)
        // A user who could choose the program that draws the prompts could read the passcode.
        if parts.pinentry == nil, let path = settings.pinentryProgram,
            let fault = PinentryProgram([path]).fault()
        {
            throw StartError(
                "\(layout.configurationFile): pinentry-program is \(fault)",
                hint: "name a program that root installed, /usr/bin/pinentry for example"
            )
        }
        let accessGroups = try AccessGroupFiles.read(layout, mode, parts.accessGroupDirectory)
        let sensors = try SensorTable.read(parts.sensorTable).over(settings.sensors)
            .over(.accepting(parts.acceptedSensors)).over(.known)
        guard case .serve(let isDetached, _) = options else { return }
        if mode == .system, environment.activationSocket == nil {
            throw StartError(
                "no listening socket was passed, and in system mode the daemon makes none",
                hint: "start its socket instead: systemctl start touchstoned@\(owner?.uid ?? 0).socket"
            )
        }
        // The last moment with a single thread: everything that starts threads comes later.
        let report = isDetached ? try Report.afterForking() : nil
        let launch = Launch(
            owner: owner ?? .ofThisProcess(),
            mode: mode,
            layout: layout,
            settings: settings,
            parts: parts,
            accessGroups: accessGroups,
            sensors: sensors,
            environment: environment,
            report: report
        )
        DaemonHardening.holdEndingSignals()
        Task.detached { await launch.run() }
        while true { pause() }
    }

    /// In system mode the store is kept from its owner: the daemon must run as another user, but not as root, whose
    /// files its own account could not open later.
    private static func checkAccount(_ owner: Owner) throws(StartError) {
        let hint = "run it under the account touchstone: systemctl start touchstoned@\(owner.uid).socket"
        if ProcessUser.uid == owner.uid {
            throw StartError(
                "in system mode the daemon does not run as the owner, user \(owner.uid)",
                hint: hint
            )
        }
        if ProcessUser.uid == 0 {
            throw StartError("in system mode the daemon does not run as root", hint: hint)
        }
    }
}
