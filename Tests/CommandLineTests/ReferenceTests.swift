import Foundation
import Glibc
import KeychainModel
import ScriptedDaemon
import Testing
import TouchstoneTesting

@Suite("References to secrets")
struct ReferenceTests {
    private let home: TemporaryHome

    init() throws { home = try TemporaryHome() }

    private func keychain(_ secrets: [String: String]) throws -> ScriptedKeychain {
        try ScriptedKeychain(home, secrets.mapValues { .init(octets: Array($0.utf8)) })
    }

    private func file(_ text: String) throws -> String {
        let path = home.path + "/file"
        try text.write(toFile: path, atomically: true, encoding: .utf8)
        return path
    }

    @Test("an environment file's references are resolved, and the rest follows dotenv syntax")
    func environmentFile() async throws {
        let keychain = try keychain(["mail": "s3cret", "two words": "x y", "pass": "p"])
        let path = try file(
            """
            # comment
            export A=touchstone://mail   # one
            B = "touchstone://two%20words"
            C='{{ touchstone://two words }}'
            D="postgres://me:{{touchstone://pass}}@host\\n"
            E=a#b
            F=
            G='two
            lines'
            A2=touchstone://mail\r

            """
        )
        var run = CommandRun("run", "--env-file", path, "--env", "F=touchstone://pass", "--", home: home)
        run.arguments += [
            "sh", "-c", "printf '%s|' \"$A\" \"$B\" \"$C\" \"$D\" \"$E\" \"$F\" \"$G\" \"$A2\"",
        ]
        let result = try await run.run()
        #expect(
            result.text == "s3cret|x y|x y|postgres://me:p@host\n|a#b|p|two\nlines|s3cret|",
            "\(result.errors)"
        )
        #expect(keychain.released.sorted() == ["mail", "pass", "two words"])
        #expect(keychain.contexts.count == 1)
    }

    @Test(
        "a malformed line is refused with its number and without its content",
        arguments: ["A", "1A=x", "A='x", "A=touchstone://", "A=touchstone://a%2", "A=\"x\" y"]
    )
    func badFile(line: String) async throws {
        let path = try file("OK=1\n\n\(line)\n")
        let result = try await CommandRun("run", "--env-file", path, "--", "true", home: home).run()
        #expect(result.status == 1)
        #expect(result.errors.hasPrefix("error: \(path), line 3: "), "\(result.errors)")
    }

    @Test("inject replaces bare and braced references, and the output file is readable only by its owner")
    func inject() async throws {
        let keychain = try keychain(["mail": "s3cret", "a/b": "multi\nline", "two words": "x"])
        let template = "u touchstone://mail, {{ touchstone://two words }}{{touchstone://a/b}} {{ other }}\n"
        var run = CommandRun("inject", home: home)
        run.input = .octets(Array(template.utf8))
        #expect(try await run.run().text == "u s3cret, xmulti\nline {{ other }}\n")
        #expect(keychain.contexts.count == 1)
        let out = home.path + "/out"
        let arguments = ["inject", "-i", try file(template), "--out-file", out]
        run.arguments = arguments
        #expect(try await run.run().status == 0)
        #expect(try String(contentsOfFile: out, encoding: .utf8) == "u s3cret, xmulti\nline {{ other }}\n")
        let mode = try FileManager.default.attributesOfItem(atPath: out)[.posixPermissions] as? Int
        #expect(mode == 0o600)
        #expect(try await run.run().status == 10)
        run.arguments = arguments + ["--replace"]
        #expect(try await run.run().status == 0)
        #expect(
            try FileManager.default.contentsOfDirectory(atPath: home.path).filter { $0.hasPrefix("out") } == [
                "out"
            ]
        )
    }

    @Test("a missing secret creates no file and releases no other secret")
    func missing() async throws {
        let keychain = try keychain(["mail": "s3cret"])
        let out = home.path + "/out"
        var run = CommandRun("inject", "-o", out, home: home)
        run.input = .octets(Array("touchstone://mail touchstone://gone".utf8))
        #expect(try await run.run().status == 3)
        #expect(keychain.released.isEmpty)
        #expect(!FileManager.default.fileExists(atPath: out))
    }

    @Test(
        "--mask conceals secrets in a command's output, also if split, and passes on the rest byte for byte"
    )
    func mask() async throws {
        let keychain = try keychain(["a": "s3cret", "b": "s3cretlonger", "c": "retzz"])
        var run = CommandRun(
            "run",
            "--mask",
            "--env",
            "A=a",
            "--env",
            "B=b",
            "--env",
            "C=c",
            "--",
            "sh",
            "-c",
            home: home
        )
        run.arguments.append(
            """
            printf 's3c'; sleep 0.2; printf 'ret,'; printf '%s,' "$B" s3cretzz s3cre; printf '\\000\\377'
            echo "$A" >&2; exit 7
            """
        )
        let result = try await run.run()
        #expect(result.status == 7)
        let mask = "<concealed by touchstone>"
        #expect(result.output == Array("\(mask),\(mask),\(mask),s3cre,".utf8) + [0, 0xFF])
        #expect(result.errors == "\(mask)\n")
        _ = keychain
    }

    @Test("--mask conceals secrets in a stream of any length, and dies of the signal that ended the command")
    func longStream() async throws {
        let keychain = try keychain(["a": "aaaaaaab"])
        var run = CommandRun("run", "--mask", "--env", "A=a", "--", "sh", "-c", home: home)
        run.arguments.append("head -c 3000000 /dev/zero | tr '\\0' a; printf b; kill -TERM $$")
        let result = try await run.run()
        #expect(result.signal == SIGTERM)
        #expect(result.output.count == 3_000_000 - 7 + "<concealed by touchstone>".utf8.count)
        _ = keychain
    }

    @Test("--mask on a terminal passes on keys, window size and exit status")
    func terminal() async throws {
        let keychain = try keychain(["a": "line1\nline2"])
        let terminal = try PseudoTerminal(columns: 91, rows: 17)
        var run = CommandRun("run", "--mask", "--env", "A=a", "--", "sh", "-c", home: home)
        run.arguments.append(
            "stty size; test -t 0 -a -t 1 -a -t 2 && echo tty; read x; echo \"$x:$A.\"; exit 5"
        )
        run.terminal = terminal
        run.input = .terminal
        run.drawsOnTerminal = true
        let started = try run.start()
        try await terminal.wait(for: "17 91")
        try await terminal.wait(for: "tty")
        terminal.press(.text("key"), .enter)
        try await terminal.wait(for: "key:<concealed by touchstone>.")
        #expect(await started.result().status == 5)
        #expect(!terminal.text.contains("line2"))
        #expect(terminal.isCanonical && terminal.isEchoing)
        _ = keychain
    }
}
