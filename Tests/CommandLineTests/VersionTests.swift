import Foundation
import KeychainModel
import ScriptedDaemon
import Testing
import TouchstoneTesting

@Suite("The product version")
struct VersionTests {
    private let home: TemporaryHome

    init() throws { home = try TemporaryHome() }

    private func text(_ path: String) throws -> String {
        try String(contentsOf: Programs.sources.appending(path: path), encoding: .utf8)
    }

    @Test("the version is a semantic version")
    func form() {
        #expect(ProductVersion.text.wholeMatch(of: #/\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?/#) != nil)
    }

    @Test(
        "each program prints the version",
        arguments: [
            (Programs.touchstone, ["--version"], ""), (Programs.touchstone, ["-V"], ""),
            (Programs.touchstone, ["docker-credential", "version"], "docker-credential-touchstone "),
            (Programs.touchstoned, ["--version"], ""),
        ]
    )
    func programs(program: String, arguments: [String], prefix: String) async throws {
        var run = CommandRun(arguments: arguments, home: home)
        run.program = program
        let result = try await run.run()
        #expect(result.status == 0)
        #expect(result.text == prefix + ProductVersion.text + "\n")
    }

    @Test("the manual pages have the version in their footer", arguments: ["touchstone.1", "touchstoned.8"])
    func manual(page: String) throws {
        let lines = try text("share/man/\(page)").split(separator: "\n")
        #expect(lines.filter { $0.hasPrefix(".Os") } == [".Os Touchstone \(ProductVersion.text)"])
    }

    @Test("the change log begins with the version and its release date or \"Unreleased\"")
    func changes() throws {
        let heading = try text("CHANGELOG.md").split(separator: "\n").first { $0.hasPrefix("## ") }
        let day = try #require(heading.flatMap { $0.split(separator: "] - ").last })
        #expect(heading == "## [\(ProductVersion.text)] - \(day)")
        #expect(day == "Unreleased" || day.wholeMatch(of: #/\d{4}-\d\d-\d\d/#) != nil)
    }

    @Test("Scripts/version prints the version and finds that all places agree")
    func script() async throws {
        var run = CommandRun(arguments: [], home: home)
        run.program = Programs.sources.appending(path: "Scripts/version").path
        let printed = try await run.run()
        #expect(printed.text == ProductVersion.text + "\n")
        run.arguments = ["--check"]
        let checked = try await run.run()
        #expect(checked.status == 0, "\(checked.errors)")
    }
}
