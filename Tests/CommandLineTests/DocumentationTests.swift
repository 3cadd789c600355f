import Foundation
import Glibc
import ScriptedDaemon
import Testing
import TouchstoneTesting

@Suite("Files shipped with touchstone")
struct DocumentationTests {
    private let home: TemporaryHome

    init() throws { home = try TemporaryHome() }

    private func shared(_ path: String) throws -> String {
        try String(contentsOf: Programs.sources.appending(path: "share/\(path)"), encoding: .utf8)
    }

    @Test("the manual page documents every command, subcommand and option")
    func manual() async throws {
        let page = try shared("man/touchstone.1")
        let main = try await CommandRun("--help", home: home).run().text
        let commands = main.split(separator: "\n").filter { $0.hasPrefix("  ") && !$0.hasPrefix("   ") }
            .compactMap { $0.split(whereSeparator: { " ,".contains($0) }).first }
            .filter { !$0.hasPrefix("-") && $0 != "See" }
        #expect(commands.count == 45)
        for command in commands {
            let isThere = page.contains("Cm \(command)") || page.contains(" | \(command)")
            #expect(isThere, "\(command)")
        }
        // What a command does stands below its own line.
        let entries = page.split(separator: "\n").filter { $0.hasPrefix(".It Cm ") }.map { line in
            line.split(separator: " ").dropFirst().filter { !["Cm", "Op", "Ar"].contains($0) }
        }
        let paths = try await CommandDump.read(home).paths
        #expect(paths.count >= 40 && paths.contains(["recovery", "new"]))
        for path in paths where !paths.contains(where: { $0.count > path.count && $0.starts(with: path) }) {
            #expect(entries.contains { $0.starts(with: path.map { $0[...] }) }, "\(path)")
            let help = try await CommandRun(arguments: path + ["--help"], home: home).run().text
            for word in help.split(whereSeparator: { " [],.\n".contains($0) }) where word.hasPrefix("--") {
                guard word.dropFirst(2).first?.isLetter == true else { continue }
                // Options of other programs are in lines to copy.
                let isThere = page.contains("Fl -\(word.dropFirst(2))") || page.contains(" \(word) ")
                #expect(isThere, "\(path) \(word)")
            }
        }
        for status in [0, 1, 3, 4, 5, 6, 7, 8, 9, 10, 64, 126, 127] {
            #expect(page.contains("\n.It \(status)\n"))
        }
    }

    @Test(
        "man(1) renders the manual pages without a warning",
        .enabled(if: Programs.isBuilt("/usr/bin/man"), "man is not installed"),
        arguments: ["touchstone.1", "touchstoned.8"]
    )
    func rendering(page: String) async throws {
        var run = CommandRun("--warnings", "-l", home: home)
        run.program = "/usr/bin/man"
        run.arguments.append(Programs.sources.appending(path: "share/man/\(page)").path)
        run.environment = ["LC_ALL": "C.UTF-8", "MANPAGER": "cat", "MANROFFOPT": ""]
        let result = try await run.run()
        #expect(result.status == 0)
        #expect(result.errors.isEmpty)
        #expect(result.text.contains("EXIT STATUS"))
    }

    private static let pages = [
        "touchstone.1", "touchstone-agent.1", "touchstone-secrets.1", "touchstoned.8", "touchstone-broker.8",
        "touchstone-server.8",
    ]

    @Test(
        "man(1) shows every command line of the manual pages as it has to be typed, in ASCII",
        .enabled(if: Programs.isBuilt("/usr/bin/man"), "man is not installed"),
        arguments: pages
    )
    func copies(page: String) async throws {
        let commands = DocumentedCommands(page: try shared("man/\(page)"))
        var run = CommandRun("-l", Programs.sources.appending(path: "share/man/\(page)").path, home: home)
        run.program = "/usr/bin/man"
        run.environment = ["LC_ALL": "C.UTF-8", "MANPAGER": "cat", "MANWIDTH": "200"]
        let text = try await run.run().text
        let shown = text.replacing("\\\n", with: " ").split(whereSeparator: \.isWhitespace).joined(
            separator: " "
        )
        #expect(
            page != "touchstone.1" || commands.lines.count > 8 && commands.mentions.count > 2,
            "\(commands)"
        )
        for command in commands.lines + commands.mentions {
            let words = command.split(whereSeparator: \.isWhitespace).joined(separator: " ")
            #expect(shown.contains(words), "\(page): \(command)")
        }
    }

    /// What is said of a command whose values are left out, but not of an unknown word or option.
    private static let shortages = ["missing", "is needed", "it follows after --", "for the shell ''"]

    /// Runs shell code in which `touchstone` and `git config` are the real ones, and all other programs do nothing.
    ///
    /// The command runs as a user without rights, so that a documented change of the system is refused once it was parsed.
    /// - Parameters:
    ///   - code: the shell code.
    ///   - directory: a directory of that user's, which is its home too.
    /// - Returns: the run; the lines of `touchstone` in its output are the exit statuses.
    /// - Throws: what the run throws.
    private func typed(_ code: String, in directory: TemporaryDirectory) async throws -> CommandResult {
        let nobody = geteuid() == 0 ? "/usr/bin/setpriv --reuid=65534 --regid=65534 --clear-groups " : ""
        let harness = """
            cd "$HOME" || exit 99
            touchstone() { \(nobody)'\(Programs.touchstone)' "$@" </dev/null >&2; echo "touchstone $?" >&9; }
            git() { if [ "$1" = config ]; then /usr/bin/git "$@"; echo "git $?" >&9; fi; }
            sudo() { "$@"; }
            command_not_found_handle() { :; }
            """
        var run = CommandRun("--norc", "-c", "\(harness)\nexec 9>&1\n\(code)\n", home: home)
        run.program = "/bin/bash"
        run.environment = [
            "HOME": directory.path, "PATH": "/nonexistent", "TOUCHSTONE_HOME": directory.path,
            "TOUCHSTONE_DAEMON": "/nonexistent",
        ]
        return try await run.run()
    }

    @Test(
        "every command line of the manual pages and documents is one: a shell, touchstone and git parse it",
        .enabled(
            if: Programs.isBuilt("/usr/bin/git") && Programs.isBuilt("/bin/bash"),
            "git or bash is not installed"
        )
    )
    func lines() async throws {
        var all: [(place: String, commands: DocumentedCommands)] = try Self.pages.map {
            ($0, DocumentedCommands(page: try shared("man/\($0)")))
        }
        let documents = try FileManager.default.contentsOfDirectory(atPath: Programs.sources.path + "/docs")
            .filter { $0.hasSuffix(".md") }.map { "docs/\($0)" }
        for document in documents + ["README.md", "SECURITY.md"] {
            let text = try String(contentsOf: Programs.sources.appending(path: document), encoding: .utf8)
            var commands = DocumentedCommands(document: text)
            // RecipeTests runs these with a keychain.
            if document == "docs/RECIPES.md" { commands.lines = [] }
            all.append((document, commands))
        }
        let directory = try TemporaryDirectory(mode: 0o777)
        var count = 0
        for (place, commands) in all {
            for line in commands.lines {
                let result = try await typed(line, in: directory)
                let statuses = result.text.split(separator: "\n").filter {
                    $0.hasPrefix("touchstone ") || $0.hasPrefix("git ")
                }
                count += statuses.count
                #expect(!result.errors.contains("syntax error"), "\(place): \(line): \(result.errors)")
                for status in statuses {
                    let isUnknown =
                        status == "touchstone 127" && result.errors.hasPrefix("error: command not found")
                    let isRefused = ["touchstone 64", "touchstone 126", "touchstone 127"].contains(status)
                    let isFine = status.hasPrefix("touchstone") ? !isRefused || isUnknown : status == "git 0"
                    #expect(isFine, "\(place): \(line): \(result)")
                }
            }
            for mention in commands.mentions where mention.contains("touchstone ") {
                let result = try await typed(mention.replacing("…", with: "more"), in: directory)
                count += 1
                let isShort = Self.shortages.contains { result.errors.lowercased().contains($0) }
                #expect(
                    !result.text.contains("touchstone 64\n") || isShort,
                    "\(place): \(mention): \(result)"
                )
                #expect(result.text.contains("touchstone "), "\(place): \(mention): \(result)")
            }
        }
        #expect(count > 60)
        // The one that is copied most often did what it says.
        let configured = try String(contentsOfFile: directory.appending(".gitconfig"), encoding: .utf8)
        #expect(configured.contains("helper = touchstone"))
        // The check can fail: a line with an unknown option, one with a word too many, and one that is no shell code.
        for (line, expected) in [
            ("touchstone get mail --feld user", "touchstone 64\n"),
            ("touchstone lock mail", "touchstone 64\n"),
            ("touchstone frobnicate", "touchstone 64\n"),
            ("git config --global -credential.helper -touchstone", "git 129\n"),
        ] {
            let result = try await typed(line, in: directory)
            #expect(result.text == expected, "\(line): \(result)")
            let isShort = Self.shortages.contains { result.errors.lowercased().contains($0) }
            #expect(!isShort || line.hasPrefix("git"), "\(line): \(result)")
        }
        #expect(try await typed("touchstone get 'mail", in: directory).status != 0)
    }
}
