import Foundation
import Glibc
import KeychainModel
import ScriptedDaemon
import Testing
import TouchstoneTesting

@Suite("The clipboard")
struct ClipboardTests {
    private let home: TemporaryHome

    init() throws { home = try TemporaryHome() }

    private static let programs = ["xclip", "xsel"].filter { Programs.isBuilt("/usr/bin/\($0)") }
    private static var hasDisplays: Bool { Programs.isBuilt("/usr/bin/Xvfb") && programs.count == 2 }

    /// What the clipboard of a display holds.
    private func held(_ display: String) async throws -> String {
        var run = CommandRun("-selection", "clipboard", "-out", home: home)
        run.program = "/usr/bin/xclip"
        run.environment = ["DISPLAY": display]
        return try await run.run().text
    }

    @Test(
        "holds a secret for as long as was said, and is cleared only if it still does",
        .enabled(if: hasDisplays, "Xvfb, xclip and xsel are not all there"),
        arguments: programs
    )
    func clearing(program: String) async throws {
        let keychain = try ScriptedKeychain(home, ["mail": .init(octets: Array("s3cret\n".utf8))])
        // Xvfb chooses a display that is free and writes its number to standard output, which the shell leaves it.
        let number = home.path + "/display"
        var server = CommandRun("-c", "exec /usr/bin/Xvfb -displayfd 1 > \(number) 2> /dev/null", home: home)
        server.program = "/bin/sh"
        let screen = try server.start()
        let display = try await Deadline.wait(for: "the display") {
            let text = (try? String(contentsOfFile: number, encoding: .utf8)) ?? ""
            return text.hasSuffix("\n") ? ":" + text.dropLast() : nil
        }
        let bin = home.path + "/bin"
        try FileManager.default.createDirectory(atPath: bin, withIntermediateDirectories: true)
        try FileManager.default.createSymbolicLink(
            atPath: "\(bin)/\(program)",
            withDestinationPath: "/usr/bin/\(program)"
        )
        var run = CommandRun("get", "mail", "-c", "--clear-after", "3", home: home)
        // xsel writes a log to the home directory, and ends without one.
        run.environment = ["DISPLAY": display, "PATH": bin, "HOME": home.path]
        let copied = try await run.run()
        #expect(copied.status == 0)
        #expect(copied.output.isEmpty)
        #expect(copied.errors == "Copied to the clipboard; it is cleared in 3 s.\n")
        #expect(try await held(display) == "s3cret\n")
        var content = "s3cret\n"
        let deadline = ContinuousClock.now + Deadline.patience
        while !content.isEmpty, ContinuousClock.now < deadline {
            try await Task.sleep(for: .milliseconds(200))
            content = try await held(display)
        }
        #expect(content.isEmpty)
        withExtendedLifetime((screen, keychain)) {}
    }

    @Test("without a display or a program for it is refused with what to do, before anybody is asked")
    func refusals() async throws {
        let keychain = try ScriptedKeychain(home, ["mail": .init(octets: [0x78])])
        var run = CommandRun("get", "mail", "--clip", home: home)
        run.environment = ["PATH": "/nonexistent"]
        let none = try await run.run()
        #expect(none.status == 7)
        #expect(none.errors.contains("error: there is no display"))
        for (variable, package) in [("DISPLAY", "xclip"), ("WAYLAND_DISPLAY", "wl-clipboard")] {
            run.environment = ["PATH": "/nonexistent", variable: ":1"]
            let result = try await run.run()
            #expect(result.status == 7)
            #expect(result.errors.contains("error: no program reaches the clipboard\nhint: install one: "))
            #expect(result.errors.hasSuffix(" \(package)\n"))
        }
        #expect(keychain.methods.isEmpty)
    }
}
