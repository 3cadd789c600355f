import Foundation
import Testing

@testable import TouchstoneServer

extension ServerTests {
    @Suite("Completions, manual page and list of settings")
    struct DocumentationTests {
        private func shared(_ path: String) throws -> String {
            let sources = URL(filePath: #filePath).deletingLastPathComponent().appending(
                path: "../../../share"
            )
            return try String(contentsOf: sources.appending(path: path), encoding: .utf8)
        }

        private func run(_ arguments: String...) async throws -> (status: Int32, text: String) {
            var result: (Int32, String) = (0, "")
            try await TestServer.inDirectory { directory in
                let process = try BuiltProgram(directory, arguments, [:])
                let status = await process.status()
                result = (status, try await process.output(until: nil))
            }
            return result
        }

        @Test(
            "the completions are those that this version generates",
            arguments: [
                ("bash", "touchstone-server.bash"), ("zsh", "_touchstone-server"),
                ("fish", "touchstone-server.fish"),
            ]
        )
        func completions(shell: String, file: String) async throws {
            let (status, text) = try await run("--generate-completion-script", shell)
            #expect(status == 0)
            let isCurrent = try text == shared("completions/\(file)")
            #expect(
                isCurrent,
                "touchstone-server --generate-completion-script \(shell) > share/completions/\(file)"
            )
        }

        @Test("the manual page has every command, option, setting and exit status of the help")
        func manual() async throws {
            let page = try shared("man/touchstone-server.8")
            let help = try await run("--help").text
            for command in ["serve", "check-config", "migrate", "verify-audit", "import-users", "version"] {
                #expect(page.contains("Cm \(command)") || page.contains(" | \(command)"), "\(command)")
                #expect(help.contains("\n  \(command)"), "\(command)")
                let (status, own) = try await run(command, "--help")
                #expect(status == 0)
                for word in own.split(whereSeparator: { " [],.\n".contains($0) }) where word.hasPrefix("--") {
                    let name = word.dropFirst(2)
                    let isThere = page.contains("Fl -\(name)") || page.contains(", -\(name)")
                    #expect(isThere, "\(command) \(word)")
                }
            }
            for key in ServerConfiguration.keys {
                #expect(help.contains(key), "\(key) is not in the help")
                let items = page.split(separator: "\n").filter { $0.hasPrefix(".It Li ") }
                let words = items.flatMap { $0.dropFirst(7).split(whereSeparator: { " ,".contains($0) }) }
                #expect(words.contains { $0 == key }, "\(key) is not in the manual")
            }
            for status in [0, 1, 64, 65, 66, 69, 75, 78] { #expect(page.contains("\n.It \(status)\n")) }
        }

        /// Whether a setting has this name.
        private func isSetting(_ key: String) -> Bool {
            let name = "TOUCHSTONE_SERVER_\(key.uppercased().replacing("-", with: "_"))"
            do {
                _ = try ServerConfiguration.read(file: nil, environment: [name: "\u{1}"])
                return true
            } catch {
                return !error.reason.contains("is no setting")
            }
        }

        @Test("the list of settings has exactly those of the help")
        func keys() async throws {
            for key in ServerConfiguration.keys { #expect(isSetting(key), "\(key)") }
            #expect(!isSetting("nothing"))
            let words = try await run("--help").text.split { !($0.isLowercase || $0 == "-") }.map(String.init)
            for word in Set(words) where isSetting(word) {
                #expect(ServerConfiguration.keys.contains(word), "\(word)")
            }
        }

        @Test(
            "man(1) shows the manual page without a warning",
            .enabled(if: FileManager.default.isExecutableFile(atPath: "/usr/bin/man"), "man is not installed")
        )
        func rendering() throws {
            let process = Process()
            process.executableURL = URL(filePath: "/usr/bin/man")
            let page = URL(filePath: #filePath).deletingLastPathComponent()
                .appending(path: "../../../share/man/touchstone-server.8").standardizedFileURL.path
            process.arguments = ["--warnings", "-l", page]
            process.environment = ["LC_ALL": "C.UTF-8", "MANPAGER": "cat", "PATH": "/usr/bin:/bin"]
            let (output, errors) = (Pipe(), Pipe())
            process.standardOutput = output
            process.standardError = errors
            try process.run()
            let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
            let complaints = errors.fileHandleForReading.readDataToEndOfFile()
            process.waitUntilExit()
            #expect(process.terminationStatus == 0 && text.contains("EXIT STATUS"))
            #expect(complaints.isEmpty, "\(String(decoding: complaints, as: UTF8.self))")
        }
    }
}
