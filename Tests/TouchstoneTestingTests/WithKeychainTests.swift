import Foundation
import Testing
import TouchstoneTesting

@Suite("A command with a keychain of its own", .timeLimit(.minutes(20)))
struct WithKeychainTests {
    /// One run of the program.
    private final class Run: Sendable {
        let process: ChildProcess
        private let directory: TemporaryDirectory
        private let log: String

        init(_ arguments: [String], _ more: [String: String] = [:]) async throws {
            directory = try TemporaryDirectory()
            log = directory.appending("log")
            let path = ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin"
            process = try await ChildProcess.start(
                Programs.directory + "/touchstone-with-keychain",
                arguments,
                environment: ["PATH": path, "BIN": Programs.directory].merging(more) { $1 },
                log: log
            )
        }

        /// What it and its command have written.
        var output: String { (try? String(contentsOfFile: log, encoding: .utf8)) ?? "" }

        /// Its exit status, once it has ended by itself.
        func status() async throws -> Int32 { try await process.waitUntilEnd() >> 8 }
    }

    private func run(
        _ arguments: String...,
        environment: [String: String] = [:]
    ) async throws -> (status: Int32, output: String) {
        let run = try await Run(arguments, environment)
        return (try await run.status(), run.output)
    }

    @Test("programs that it starts share the keychain, which ends with it")
    func shared() async throws {
        let script = """
            echo s3cret | "$BIN/TokenStore" save ada && "$BIN/TokenStore" show ada && echo "$TOUCHSTONE_HOME"
            """
        let (status, output) = try await run("sh", "-c", script)
        let lines = output.split(separator: "\n").map(String.init)
        #expect(status == 0 && lines.first == "s3cret" && lines.count == 2, "\(output)")
        #expect(lines.last?.hasPrefix("/") == true)
        #expect(lines.last.map { FileManager.default.fileExists(atPath: $0) } == false)
        let other = try await run("sh", "-c", "\"$BIN/TokenStore\" show ada")
        #expect(other == (1, "no token for ada\n"))
    }

    @Test("a finger on the sensor opens what needs one, and without a sensor there is none to bind to")
    func finger() async throws {
        let note = "\"$BIN/BiometricNote\" && \"$BIN/BiometricNote\""
        let opened = try await run("sh", "-c", note, environment: ["DISPLAY": ":9", "WAYLAND_DISPLAY": "w"])
        #expect(opened == (0, "Meet me at the bridge.\nMeet me at the bridge.\n"))
        let none = try await run(
            "--without-sensor",
            "sh",
            "-c",
            "\"$BIN/BiometricNote\" 2>/dev/null; echo $?"
        )
        #expect(none.status == 0 && none.output.hasPrefix("13"), "\(none.output)")
        let token = try await run(
            "--without-sensor",
            "sh",
            "-c",
            "echo t | \"$BIN/TokenStore\" save ada; echo $?"
        )
        #expect(token == (0, "0\n"))
    }

    private static let statuses: [(arguments: [String], status: Int32)] = [
        (["sh", "-c", "exit 7"], 7), (["sh", "-c", "kill -9 $$"], 137), (["/no/such/program"], 127),
        (["-x"], 64), ([], 64), ([""], 64), (["--without-sensor"], 64),
        (["--without-sensor", "--without-sensor"], 64), (["--help"], 0),
    ]

    @Test("the exit status is the command's, as a shell tells it", arguments: statuses)
    func status(arguments: [String], expected: Int32) async throws {
        let run = try await Run(arguments)
        #expect(try await run.status() == expected, "\(run.output)")
        #expect(run.output.hasPrefix("usage: ") == (expected == 64 || expected == 0))
    }

    @Test("output and errors stay apart")
    func outputs() async throws {
        let script = "\"$BIN/touchstone-with-keychain\" sh -c 'echo out; echo err >&2' 2>/dev/null"
        #expect(try await run("sh", "-c", script) == (0, "out\n"))
    }

    @Test("a daemon that is not built is status 69, and says what to add to the manifest")
    func noDaemon() async throws {
        let (status, output) = try await run("true", environment: ["TOUCHSTONE_BIN": "/nonexistent"])
        #expect(status == 69)
        #expect(output.hasPrefix("touchstone-with-keychain: ") && output.contains("touchstoned-testing"))
    }

    @Test(
        "a signal that ends it goes to the command, and the keychain is removed",
        arguments: [SIGTERM, SIGINT, SIGHUP]
    )
    func signal(_ signal: Int32) async throws {
        let script = """
            trap 'exit 3' \(signal)
            echo "ready $TOUCHSTONE_HOME"
            while :; do sleep 1; done
            """
        let run = try await Run(["sh", "-c", script])
        let home = try await Deadline.wait(for: "the command") {
            run.output.hasSuffix("\n") ? run.output.split(whereSeparator: \.isWhitespace).last : nil
        }
        kill(run.process.processID, signal)
        #expect(try await run.status() == 3)
        #expect(!FileManager.default.fileExists(atPath: String(home)))
    }
}
