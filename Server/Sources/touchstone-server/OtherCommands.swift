internal import ArgumentParser
internal import TouchstoneServer

/// The command `touchstone-server check-config`.
struct CheckConfig: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "check-config",
        abstract:
            "Read the configuration and the files it names, try the database, and print the settings in effect."
    )

    @OptionGroup var options: ConfigurationOptions

    func run() async throws {
        let configuration = try options.read()
        do { print(try await configuration.check()) } catch { throw Failure.report(error) }
    }
}

/// The command `touchstone-server migrate`.
struct Migrate: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Migrate the database to the current version, or create it."
    )

    @OptionGroup var options: ConfigurationOptions

    func run() throws {
        let configuration = try options.read()
        let (from, to) = try Failure.reported { try ServerProgram.migrate(configuration) }
        print(from == to ? "up to date (version \(to))" : "migrated from version \(from) to \(to)")
    }
}

/// The command `touchstone-server version`.
struct ShowVersion: ParsableCommand {
    static let configuration = CommandConfiguration(commandName: "version", abstract: "Print the version.")

    func run() { print(ServerVersion.text) }
}
