import Foundation
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
        #expect(commands.count == 34)
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
                #expect(page.contains("Fl -\(word.dropFirst(2))"), "\(path) \(word)")
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
}
