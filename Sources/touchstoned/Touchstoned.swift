import CLinux
import Glibc
import KeychainModel

/// The program: hardens itself before anything else, reads its options, and becomes the daemon.
@main
enum Touchstoned {
    static func main() {
        Hardening.begin()
        let options: LaunchOptions
        do throws(StartError) {
            options = try LaunchOptions(CommandLine.arguments.dropFirst())
        } catch {
            error.tell()
            _exit(LaunchOptions.usageStatus)
        }
        do throws(StartError) {
            try run(options)
        } catch {
            error.tell()
            _exit(StartError.exitStatus)
        }
    }

    private static func run(_ options: LaunchOptions) throws(StartError) {
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
        let settings = try Configuration.read(layout.configurationFile)
        let accessGroups = try AccessGroupFiles.read(layout, settings)
        guard case .serve(let isDetached) = options else { return }
        // The last moment at which there is one thread: whatever starts one comes after it.
        let report = isDetached ? try Report.afterForking() : nil
        let launch = Launch(
            layout: layout,
            settings: settings,
            accessGroups: accessGroups,
            environment: environment,
            report: report
        )
        Hardening.holdEndingSignals()
        Task.detached { await launch.run() }
        while true { pause() }
    }
}

/// The version that `--version`, the greeting and `status` tell.
enum Version {
    static let text = "0.1.0"
}
