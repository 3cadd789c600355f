import ArgumentParser
import CLinux
import Glibc
import KeychainModel

/// The program: hardens itself before anything else, reads its options, and becomes the daemon.
@main
struct Touchstoned: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "touchstoned",
        abstract: "Keeps the keychain of one user: a finger or a passcode releases a key.",
        discussion: """
            Started on first use by the programs that need it, or by the user's service manager. Paths come \
            from XDG_RUNTIME_DIR, XDG_DATA_HOME and XDG_CONFIG_HOME; TOUCHSTONE_HOME moves all of them.
            """,
        version: Version.text
    )

    @Flag(help: "Return once the daemon listens, and leave it in the background.")
    var detach = false

    @Flag(help: "Stay in the foreground and log to standard error (the default).")
    var foreground = false

    @Flag(help: "Read the configuration, say what is wrong with it, and end.")
    var checkConfiguration = false

    static func main() {
        Hardening.begin()
        do {
            let command = try parse()
            try command.run()
        } catch let error as StartError {
            error.tell()
            _exit(StartError.exitStatus)
        } catch {
            exit(withError: error)
        }
    }

    func validate() throws {
        guard !(detach && foreground) else {
            throw ValidationError("--detach and --foreground exclude each other.")
        }
    }

    func run() throws {
        let environment = LaunchEnvironment.take()
        guard let layout = environment.layout else {
            throw StartError(
                "there is no home directory",
                hint: "set HOME or TOUCHSTONE_HOME to an absolute path"
            )
        }
        let settings = try Configuration.read(layout.configurationFile)
        let accessGroups = try AccessGroupFiles.read(layout, settings)
        guard !checkConfiguration else { return }
        // The last moment at which there is one thread: whatever starts one comes after it.
        let report = detach ? try Report.afterForking() : nil
        let launch = Launch(
            layout: layout,
            settings: settings,
            accessGroups: accessGroups,
            environment: environment,
            report: report
        )
        Task.detached { await launch.run() }
        while true { pause() }
    }
}

/// The version that `--version`, the greeting and `status` tell.
enum Version {
    static let text = "0.1.0"
}
