import Foundation
import Glibc
import ScriptedDaemon
import Testing
import TouchstoneTesting

/// What other programs do with a secret while `touchstone` lends it to them.
@Suite("Editors and terminals that would show or keep a secret", .serialized)
struct RestraintTests {
    private let home: TemporaryHome

    init() throws { home = try TemporaryHome() }

    @Test(
        "Vim is told to keep no copies, however the command starts it",
        arguments: [
            "vim", "vi", "DIRECTORY/vim", "env vim", "env -u LANG A=b vi", "nice vim", "sh -c 'vim \"$0\"'",
            "sh -c 'exec vi \"$1\"' sh", "sh -c 'cd / && vim \"$0\"'", "./wrapper",
        ]
    )
    func vim(command: String) async throws {
        let keychain = try ScriptedKeychain(home, ["key": .init(octets: Array("old".utf8))])
        let programs = home.path + "/programs"
        try FileManager.default.createDirectory(atPath: programs, withIntermediateDirectories: true)
        for (name, text) in [
            (
                "programs/vim.other",
                "printf '%s\\n' \"$@\" > \"$SEEN\"; ls -a \"$(dirname \"$SEEN\")\" > /dev/null"
            ),
            ("wrapper", "vim \"$1\""),
        ] {
            let path = home.path + "/" + name
            try "#!/bin/sh\n\(text)\n".write(toFile: path, atomically: true, encoding: .utf8)
            chmod(path, 0o755)
        }
        for name in ["vim", "vi"] { symlink("vim.other", programs + "/" + name) }
        let terminal = try PseudoTerminal()
        var run = CommandRun("edit", "key", home: home)
        run.terminal = terminal
        run.input = .terminal
        run.drawsOnTerminal = true
        run.environment = [
            "EDITOR": command.replacingOccurrences(of: "DIRECTORY", with: programs)
                .replacingOccurrences(of: "./", with: home.path + "/"),
            "PATH": "\(programs):/usr/bin:/bin", "SEEN": home.path + "/seen",
        ]
        #expect(try await run.run().status == 0, "\(terminal.text)")
        let seen = try String(contentsOfFile: home.path + "/seen", encoding: .utf8).split(separator: "\n")
        #expect(
            seen.prefix(5) == ["-n", "-i", "NONE", "-c", "set noundofile nobackup nowritebackup"],
            "\(seen)"
        )
        let file = try #require(seen.last)
        #expect(file.hasSuffix("/secret"))
        // The scripts go with the file.
        let directory = String(file.dropLast("/secret".count))
        #expect(!FileManager.default.fileExists(atPath: directory))
        _ = keychain
    }

    @Test(
        "--mask conceals a secret on a terminal that changes output",
        arguments: [
            0, tcflag_t(XTABS), tcflag_t(OLCUC), tcflag_t(XTABS | OLCUC), tcflag_t(OCRNL), tcflag_t(ONLRET),
        ]
    )
    func mask(changes: tcflag_t) async throws {
        let secret = "tab\there\tand\nthere"
        let keychain = try ScriptedKeychain(home, ["a": .init(octets: Array(secret.utf8))])
        let terminal = try PseudoTerminal()
        let descriptor = open(terminal.name, O_RDWR | O_NOCTTY | O_CLOEXEC)
        defer { close(descriptor) }
        var modes = termios()
        #expect(tcgetattr(descriptor, &modes) == 0)
        modes.c_oflag |= tcflag_t(OPOST) | changes
        #expect(tcsetattr(descriptor, TCSANOW, &modes) == 0)
        var run = CommandRun("run", "--mask", "--env", "A=a", "--", "sh", "-c", home: home)
        run.arguments.append("printf 'x\\ty:%s:%s:end' \"$A\" \"$A\"")
        run.terminal = terminal
        run.input = .terminal
        run.drawsOnTerminal = true
        #expect(try await run.run().status == 0)
        let isUpper = changes & tcflag_t(OLCUC) != 0
        try await terminal.wait(for: isUpper ? ":END" : ":end")
        let mask = isUpper ? "<CONCEALED BY TOUCHSTONE>" : "<concealed by touchstone>"
        let shown = String(decoding: terminal.octets, as: UTF8.self)
        // The terminal goes on to change the rest.
        let tab = changes & tcflag_t(XTABS) != 0 ? "       " : "\t"
        let plain = "x\(tab)y:\(mask):\(mask):end"
        #expect(shown == (isUpper ? plain.uppercased() : plain))
        var after = termios()
        #expect(tcgetattr(descriptor, &after) == 0 && after.c_oflag == modes.c_oflag)
        _ = keychain
    }
}
