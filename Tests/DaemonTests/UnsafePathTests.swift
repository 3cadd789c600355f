import Glibc
import KeychainModel
import Testing
import TouchstoneTesting

@Suite("Files that others can access", .enabled(if: Programs.isBuilt, "touchstoned is not built"))
struct UnsafePathTests {
    /// What was done to the home before the daemon starts.
    enum Trick: String, CaseIterable, Sendable {
        case openData, linkedData, foreignData, openRun, linkedRun, pipeForKeybag, linkedKeybag,
            secondNameOfAttempts
        case writableConfiguration, linkedConfiguration, fileForData

        func apply(to home: DaemonHome) throws {
            let (data, run) = (home.layout.dataDirectory, home.layout.runtimeDirectory)
            let elsewhere = try home.directory.makeDirectory("elsewhere")
            func file(_ path: String) { close(open(path, O_CREAT | O_WRONLY, 0o600)) }
            switch self {
            case .openData:
                mkdir(data, 0o700)
                chmod(data, 0o777)
            case .linkedData: symlink(elsewhere, data)
            case .foreignData:
                mkdir(data, 0o700)
                chown(data, 12_345, 12_345)
            case .openRun:
                mkdir(run, 0o700)
                chmod(run, 0o755)
            case .linkedRun: symlink(elsewhere, run)
            case .pipeForKeybag:
                mkdir(data, 0o700)
                mkfifo(data + "/keybag", 0o600)
            case .linkedKeybag:
                mkdir(data, 0o700)
                file(elsewhere + "/keybag")
                symlink(elsewhere + "/keybag", data + "/keybag")
            case .secondNameOfAttempts:
                mkdir(data, 0o700)
                file(elsewhere + "/attempts")
                link(elsewhere + "/attempts", data + "/attempts")
            case .writableConfiguration: chmod(home.layout.configurationFile, 0o666)
            case .linkedConfiguration:
                rename(home.layout.configurationFile, elsewhere + "/conf")
                symlink(elsewhere + "/conf", home.layout.configurationFile)
            case .fileForData: file(data)
            }
        }
    }

    @Test("the daemon refuses to start, with an error and a hint", arguments: Trick.allCases)
    func refused(trick: Trick) async throws {
        guard trick != .foreignData || geteuid() == 0 else { return }
        let home = try DaemonHome()
        try trick.apply(to: home)
        let finished = try await Finished.running([Programs.touchstoned], environment: home.environment)
        #expect(finished.status == 1)
        let lines = finished.output.split(separator: "\n")
        #expect(lines.count == 2)
        #expect(lines.first?.hasPrefix("error: ") == true)
        #expect(lines.last?.hasPrefix("hint: ") == true)
        #expect(!RunningDaemon.canConnect(to: home.layout.socket))
    }

    @Test("--detach reports the refusal too")
    func refusedDetached() async throws {
        let home = try DaemonHome()
        try Trick.openData.apply(to: home)
        let finished = try await Finished.running(
            [Programs.touchstoned, "--detach"],
            environment: home.environment
        )
        #expect(finished.status == 1)
        #expect(finished.output.hasPrefix("error: "))
        #expect(finished.output.contains("\nhint: "))
    }
}
