import Foundation
import Glibc
import ScriptedDaemon
import Testing
import TouchstoneTesting

/// The completions in real shells on a terminal: which arguments a command gets after TAB and Enter, and that nothing in a
/// name is executed.
@Suite("Completions in bash, zsh and fish", .serialized)
struct CompletionTests {
    enum Shell: String, CaseIterable {
        case bash
        /// bash with the package bash-completion, which is Debian's default.
        case bashCompletion
        case zsh
        case fish

        /// Those of this run.
        static let tested = CaseSize.of([.bashCompletion, .zsh, .fish], full: allCases)

        var program: String { "/usr/bin/" + (self == .bashCompletion ? "bash" : rawValue) }
        var script: String { self == .bashCompletion ? "bash" : rawValue }
    }

    /// How a typed word is quoted.
    private enum Quoting: CaseIterable {
        case none, single, double

        /// A word that is not ended; nil if it cannot begin with the text.
        func begun(_ text: String) -> String? {
            switch self {
            case .none: text.map { ($0.isLetter || $0.isNumber ? "" : "\\") + String($0) }.joined()
            case .single: text.contains { "'\\".contains($0) } ? nil : "'" + text
            case .double: text.contains { "\"$`\\!".contains($0) } ? nil : "\"" + text
            }
        }
    }

    /// What a shell gives a meaning, and letters that are not ASCII.
    private static let characters = Array("$`\"'\\!*?[]{}()<>|&;~#=^%@:/ ,+é日")
    /// Would make files if a shell evaluated it.
    private static let payload = "$(touch ran1)`touch ran2`;touch ran3;|touch ran4&>ran5"

    private let home: TemporaryHome

    init() throws { home = try TemporaryHome() }

    /// An interactive shell in the home directory, in which `touchstone` writes its arguments as a line of the file `out`.
    private struct Session {
        let home: TemporaryHome
        let terminal: PseudoTerminal
        let process: ChildProcess

        private var lines: [Substring] {
            let text = (try? String(contentsOfFile: home.path + "/out", encoding: .utf8)) ?? ""
            return text.hasSuffix("\n") ? text.split(separator: "\n") : []
        }

        /// The arguments of `touchstone` for a line after TAB and Enter.
        func arguments(after line: String) async throws -> String {
            let before = lines.count
            terminal.press(.text(line), .tab, .enter)
            do {
                let all = try await Deadline.wait(for: "the command") { lines.count > before ? lines : nil }
                return all.last.map(String.init) ?? ""
            } catch {
                throw TestKitError.unexpected("\(line): \(terminal.text.suffix(500))")
            }
        }

        /// Whether a part of a name was executed.
        var hasRun: Bool {
            (1...5).contains { FileManager.default.fileExists(atPath: home.path + "/ran\($0)") }
        }
    }

    private func session(_ shell: Shell) async throws -> Session {
        let script = try await CommandRun("--generate-completion-script", shell.script, home: home).run().text
        let files = [
            "_touchstone": script, "touchstone.fish": script,
            "show": "#!/bin/sh\nfor a in \"$@\"; do s=\"$s[$a]\"; done\nprintf '%s\\n' \"$s\" >> out\n",
            "inputrc":
                "set enable-bracketed-paste off\nset bell-style none\nset completion-query-items 0\nset page-completions off\n",
            "bashrc": """
            \(shell == .bashCompletion ? "source /usr/share/bash-completion/bash_completion" : "")
            source ./_touchstone
            touchstone() { ./show "$@"; }
            set -H
            PS1='ready> '

            """,
            ".zshrc": """
            fpath=($ZDOTDIR $fpath)
            autoload -U compinit
            compinit -u -D
            touchstone() { ./show "$@"; }
            setopt interactivecomments extendedglob
            unsetopt beep
            PS1='ready> '

            """,
            "fishrc": """
            function fish_prompt; echo -n 'ready> '; end
            function touchstone; ./show $argv; end
            set -g fish_greeting
            set -g fish_autosuggestion_enabled 0
            source ./touchstone.fish

            """,
        ]
        for (name, text) in files {
            try text.write(toFile: home.path + "/" + name, atomically: true, encoding: .utf8)
        }
        chmod(home.path + "/show", 0o755)
        let options =
            switch shell {
            case .bash, .bashCompletion: "--noprofile --rcfile ./bashrc -i"
            case .zsh: "-d -i"
            case .fish: "--no-config -i -C 'source ./fishrc'"
            }
        let terminal = try PseudoTerminal(columns: 200, rows: 50)
        let directory = URL(fileURLWithPath: Programs.touchstone).deletingLastPathComponent().path
        let process = try await ChildProcess.start(
            "/bin/sh",
            [
                "-c",
                "cd \(home.path) && exec 0<>\(terminal.name) 1>&0 2>&0; exec \(shell.program) \(options)",
            ],
            environment: [
                "TERM": "xterm", "PATH": "\(directory):/usr/bin:/bin", "HISTFILE": "", "LC_ALL": "C.UTF-8",
                "HOME": home.path, "ZDOTDIR": home.path, "INPUTRC": home.path + "/inputrc",
                "TOUCHSTONE_HOME": home.path, "TOUCHSTONE_DAEMON": "/nonexistent",
            ]
        )
        try await terminal.wait(for: "ready>")
        return Session(home: home, terminal: terminal, process: process)
    }

    private func keychain(_ names: [String]) throws -> ScriptedKeychain {
        try ScriptedKeychain(
            home,
            Dictionary(uniqueKeysWithValues: names.map { ($0, .init(octets: [0x78], flags: [])) })
        )
    }

    @Test(
        "a name with any metacharacter becomes one argument, and nothing of it is executed",
        arguments: Shell.tested
    )
    func metacharacters(shell: Shell) async throws {
        var names: [(typed: String, name: String)] = []
        for (number, character) in Self.characters.enumerated() {
            // At the start, in the middle and at the end.
            names.append(("\(character)s\(number + 10)", "\(character)s\(number + 10)rest"))
            names.append(("m\(number + 10)", "m\(number + 10)\(character)\(Self.payload)"))
            names.append(("e\(number + 10)", "e\(number + 10)x\(character)"))
        }
        let keychain = try keychain(names.map(\.name))
        let session = try await session(shell)
        defer { session.process.stop() }
        let quotings = CaseSize.of([Quoting.none], full: Quoting.allCases)
        for (typed, name) in CaseSize.of(
            names.enumerated().filter { $0.offset % 5 == 0 }.map(\.element),
            full: names
        ) {
            for quoting in quotings {
                guard let word = quoting.begun(typed) else { continue }
                // fish expects more after such a character, and leaves the quote open for the user.
                if shell == .fish, quoting != .none, name.last.map("/=@:.,-".contains) == true { continue }
                #expect(
                    try await session.arguments(after: "touchstone get " + word) == "[get][\(name)]",
                    "\(quoting)"
                )
            }
        }
        // What is listed is not executed either. Then the line is erased.
        session.terminal.press(.text("touchstone get m1"), .tab, .tab, .text("\u{15}"))
        #expect(try await session.arguments(after: "touchstone get e10") == "[get][e10x$]")
        #expect(!session.hasRun)
        _ = keychain
    }

    /// Names with what a terminal does not show as it is.
    private static let hidden = [
        "h\u{1B}]0;x", "h\u{7}", "h\u{9B}31m", "h\u{85}", "h\u{202E}txt", "h\u{2066}", "h\u{200B}",
        "h\u{FEFF}",
        "h\u{2028}", "h\n", "h\t", "h\r",
    ]

    @Test(
        "commands, options, values, names and files complete where they belong",
        arguments: Shell.tested
    )
    func places(shell: Shell) async throws {
        let names = [
            "two words", "docker:reg.example:5000/x", "https://me@host.example/r.git", "ümläut 日本", "-dash",
            "w x/y",
        ]
        let keychain = try keychain(names + Self.hidden)
        try "".write(toFile: home.path + "/a file;x", atomically: true, encoding: .utf8)
        let session = try await session(shell)
        defer { session.process.stop() }
        var cases = [
            ("li", "[list]"), ("system en", "[system][enable]"), ("help rep", "[help][repair]"),
            ("set x --req", "[set][x][--require]"), ("set x --require fi", "[set][x][--require][finger]"),
            ("set x --require=fi", "[set][x][--require=finger]"),
            ("set x --from-file a", "[set][x][--from-file][a file;x]"),
            ("set x --from-file=a", "[set][x][--from-file=a file;x]"), ("backup a", "[backup][a file;x]"),
            ("backup x --on-conflict b", "[backup][x][--on-conflict][both]"),
            ("get docker:re", "[get][docker:reg.example:5000/x]"),
            ("get https://me@ho", "[get][https://me@host.example/r.git]"), ("get üm", "[get][ümläut 日本]"),
            ("get -- -da", "[get][--][-dash]"), ("get -c tw", "[get][-c][two words]"),
            ("get h", "[get][https://me@host.example/r.git]"), ("rm üm", "[rm][ümläut 日本]"),
            ("list w", "[list][w x/]"), ("ls --tree doc", "[ls][--tree][docker:reg.example:5000/]"),
            ("mv docker:reg.example:5000/ w", "[mv][docker:reg.example:5000/][w x/]"),
            ("apps fingers /bin/sh of", "[apps][fingers][/bin/sh][off]"),
            ("theft-protection di", "[theft-protection][distrust]"),
            ("require tw", "[require][two words]"), ("require x fi", "[require][x][finger]"),
            ("rm x tw", "[rm][x][two words]"), ("run --env A=tw", "[run][--env][A=two words]"),
            ("run --env=A=tw", "[run][--env=A=two words]"),
            ("run --env A=docker:re", "[run][--env][A=docker:reg.example:5000/x]"),
            ("run --env A=x -- mkfif", "[run][--env][A=x][--][mkfifo]"),
            ("run --env A=x -- cat a", "[run][--env][A=x][--][cat][a file;x]"),
            ("run --env A=x -- /usr/bin/mkfif", "[run][--env][A=x][--][/usr/bin/mkfifo]"),
        ]
        for command in ["show", "edit", "delete", "copy", "cp", "rename", "mv"] {
            cases.append(("\(command) tw", "[\(command)][two words]"))
        }
        // Without the package bash knows no other command's completion.
        if shell != .bash {
            cases.append(
                ("run --env A=x -- touchstone get tw", "[run][--env][A=x][--][touchstone][get][two words]")
            )
        }
        for (typed, arguments) in cases {
            let found = try await session.arguments(after: "touchstone " + typed)
            #expect(found == arguments, "\(typed)")
        }
        // The second argument is a new name.
        #expect(try await session.arguments(after: "touchstone cp x tw") == "[cp][x][tw]")
        let octets = String(decoding: session.terminal.octets, as: UTF8.self)
        for character in ["\u{9B}", "\u{85}", "\u{202E}", "\u{2066}", "\u{200B}", "\u{FEFF}", "\u{2028}"] {
            #expect(!octets.contains(character))
        }
        _ = keychain
    }

    @Test("the completed options are those that the parser accepts")
    func options() async throws {
        let root = try await CommandDump.read(home)
        try await check(root.command, [])
    }

    private func check(_ command: CommandDump.Command, _ path: [String]) async throws {
        guard command.commandName != "help" else { return }
        let options = (command.arguments ?? []).flatMap { $0.names ?? [] }
            .map { ($0.kind == "long" ? "--" : "-") + $0.name }
        let lines = try await answer(path + ["-"])
        #expect(Set(lines) == Set(options), "\(path)")
        for option in (command.arguments ?? []) where option.kind == "option" {
            guard let name = option.names?.first(where: { $0.kind == "long" })?.name else { continue }
            // A value follows, and no option.
            let values = try await answer(path + ["--" + name, "-"])
            #expect(!values.contains("--help"), "\(path) \(name)")
        }
        let subcommands = command.subcommands ?? []
        if !subcommands.isEmpty {
            #expect(Set(try await answer(path + [""])) == Set(subcommands.map(\.commandName)), "\(path)")
        }
        for next in subcommands { try await check(next, path + [next.commandName]) }
    }

    /// The words that the program offers zsh.
    private func answer(_ words: [String]) async throws -> [String] {
        let result = try await CommandRun(arguments: ["---complete", "zsh"] + words, home: home).run()
        return result.text.split(separator: "\n").dropFirst().map { String($0.prefix { $0 != "\t" }) }
    }

    @Test("the parser's own scripts, which evaluate names, are not to be had")
    func generated() async throws {
        for shell in ["bash", "zsh", "fish"] {
            for arguments in [
                ["--generate-completion-script", shell], ["--generate-completion-script=\(shell)"],
            ] {
                let text = try await CommandRun(arguments: arguments, home: home).run().text
                #expect(text.contains("---complete \(shell)") && !text.contains("compgen -W"))
            }
        }
        let other = try await CommandRun("--generate-completion-script", "tcsh", home: home).run()
        #expect(other.status == 64 && other.output.isEmpty)
    }
}
