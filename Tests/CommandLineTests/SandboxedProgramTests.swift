import Foundation
import ScriptedDaemon
import Testing
import TouchstoneTesting

/// A program in bubblewrap, with the file by which Flatpak's sandboxes are known: what it is told, and what it may do.
@Suite(
    "A program in a sandbox",
    .enabled(if: RealKeychain.isPossible, "touchstone and touchstoned are not both built"),
    .enabled(if: Sandboxed.isPossible, "needs bubblewrap and a place that allows its namespaces")
)
struct SandboxedProgramTests {
    @Test("without the daemon's socket the error names the sandbox, and outside of it the daemon")
    func absent() async throws {
        let home = try TemporaryHome()
        let inside = try await Sandboxed(home: home, application: "org.example.Notes").run("get", "mail")
        #expect(inside.status == 7 && inside.output.isEmpty)
        #expect(
            inside.errors.hasPrefix(
                "error: this program runs in a sandbox that does not let it reach the keychain (Flatpak org.example.Notes; "
            ),
            "\(inside.errors)"
        )
        #expect(inside.errors.contains("\nhint: "))
        let plain = try await Sandboxed(home: home, application: nil).run("get", "mail")
        #expect(plain.status == 7 && !plain.errors.contains("sandbox"), "\(plain.errors)")
    }

    @Test(
        "with the socket it has a keychain, as an unknown program: it sees nothing of others, nor they of it"
    )
    func present() async throws {
        let keychain = try await RealKeychain.ready()
        #expect(try await keychain.run("set", "mail", "--require", "none", input: "outside").status == 0)
        var sandbox = try Sandboxed(home: keychain.home, application: "org.example.Notes")
        sandbox.shared = [keychain.home.path]
        #expect(try await sandbox.run("get", "mail").status == 3)
        let stored = try await sandbox.run("set", "note", "--require", "none", input: "inside")
        #expect(stored.status == 0, "\(stored.errors)")
        #expect(try await sandbox.run("get", "note").text == "inside")
        #expect(try await keychain.run("get", "note").status == 3)
        // Sandboxed programs are not told apart.
        var other = try Sandboxed(home: keychain.home, application: "org.example.Other")
        other.shared = [keychain.home.path]
        #expect(try await other.run("get", "note").text == "inside")
    }
}

/// `touchstone` in a sandbox that sees the programs of this machine, and of the temporary files what is shared.
private struct Sandboxed {
    private static let program = "/usr/bin/bwrap"

    static let isPossible: Bool = {
        guard FileManager.default.isExecutableFile(atPath: program) else { return false }
        let process = Process()
        process.executableURL = URL(fileURLWithPath: program)
        process.arguments = ["--ro-bind", "/", "/", "--unshare-pid", "--proc", "/proc", "/bin/true"]
        process.standardError = nil
        guard (try? process.run()) != nil else { return false }
        process.waitUntilExit()
        return process.terminationStatus == 0
    }()

    let home: TemporaryHome
    /// Directories of the temporary files that the sandbox sees.
    var shared: [String] = []
    private let information: String?
    private let files: TemporaryDirectory

    /// A sandbox of a Flatpak application; nil for one without its file.
    init(home: TemporaryHome, application: String?) throws {
        self.home = home
        let files = try TemporaryDirectory()
        self.files = files
        information = try application.map {
            try files.write(
                "[Application]\nname=\($0)\nruntime=runtime/org.example.Platform\n",
                to: "flatpak-info"
            )
        }
    }

    func run(_ arguments: String..., input: String? = nil) async throws -> CommandResult {
        var run = CommandRun(home: home)
        run.program = Self.program
        run.arguments = try places() + ["--", Programs.touchstone] + arguments
        run.input = input.map { .octets(Array($0.utf8)) } ?? .nothing
        return try await run.run()
    }

    private func places() throws -> [String] {
        var places = ["--unshare-pid", "--tmpfs", "/", "--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp"]
        for name in try FileManager.default.contentsOfDirectory(atPath: "/")
        where !["proc", "dev", "sys", "tmp", "run"].contains(name) {
            if let target = try? FileManager.default.destinationOfSymbolicLink(atPath: "/" + name) {
                places += ["--symlink", target, "/" + name]
            } else {
                places += ["--ro-bind-try", "/" + name, "/" + name]
            }
        }
        for directory in shared { places += ["--bind", directory, directory] }
        if let information { places += ["--ro-bind", information, "/.flatpak-info"] }
        return places
    }
}
