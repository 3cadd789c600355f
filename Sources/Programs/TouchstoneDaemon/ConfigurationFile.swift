/// The file of the settings.
extension Configuration {
    /// Reads the file; a missing one is an empty one.
    ///
    /// `parts` takes the settings out that are not of every daemon, and makes its parts of them.
    static func read(
        _ path: String,
        _ parts: DaemonProgram.PartsReader
    ) throws(StartError) -> (Configuration, DaemonParts) {
        let text = try TrustedFile.ofUser(path).text() ?? ""
        do throws(Setting.Fault) {
            var settings = try Setting.all(in: text)
            let parts = try parts(&settings)
            return (try Configuration(settings), parts)
        } catch {
            throw StartError(
                "\(path), line \(error.line): \(error.reason)",
                hint: "see touchstoned(8) for the settings"
            )
        }
    }
}
