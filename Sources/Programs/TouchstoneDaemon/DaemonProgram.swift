import CLinux
import Glibc
import KeychainModel
import PinentryDriver

/// The program: hardens itself before anything else, reads its options, and becomes the daemon.
package enum DaemonProgram {
    /// Takes settings out of a configuration's that are not of every daemon, and makes the daemon's parts of them.
    package typealias PartsReader = (inout [Setting]) throws(Setting.Fault) -> DaemonParts

    /// Runs the daemon and ends the process.
    ///
    /// `startsClean`: without a variable that could have acted on it, which some tests do.
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
        Hardening.begin()
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
        if case .tell(let text) = options { return print(text, terminator: "") }
        let environment = LaunchEnvironment.take()
        guard let layout = environment.layout else {
            throw StartError(
                "there is no home directory",
                hint: "set HOME or TOUCHSTONE_HOME to an absolute path"
            )
        }
        if let fault = layout.runtimeFault() {
            throw StartError(
                "the socket cannot be where the environment says: \(fault)",
                hint: "unset XDG_RUNTIME_DIR, or log in as this user"
            )
        }
        let (settings, parts) = try Configuration.read(layout.configurationFile, parts)
        // Who may choose the program that draws the boxes could read the passcode.
        if parts.pinentry == nil, let path = settings.pinentryProgram,
            let fault = PinentryProgram([path]).fault()
        {
            throw StartError(
                "\(layout.configurationFile): pinentry-program is \(fault)",
                hint: "name a program that root installed, /usr/bin/pinentry for example"
            )
        }
        let accessGroups = try AccessGroupFiles.read(layout, parts.accessGroupDirectory)
        let sensors = try SensorTable.read(parts.sensorTable)
        guard case .serve(let isDetached) = options else { return }
        // The last moment at which there is one thread: whatever starts one comes after it.
        let report = isDetached ? try Report.afterForking() : nil
        let launch = Launch(
            owner: .ofThisProcess(),
            mode: .perUser,
            layout: layout,
            settings: settings,
            parts: parts,
            accessGroups: accessGroups,
            sensors: sensors,
            environment: environment,
            report: report
        )
        Hardening.holdEndingSignals()
        Task.detached { await launch.run() }
        while true { pause() }
    }
}
