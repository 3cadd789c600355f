/// The settings file.
extension Configuration {
    /// Reads the file, in system mode the administrator's; a missing file counts as empty.
    ///
    /// `parts` removes the settings that not every daemon has, and makes parts of them.
    static func read(
        _ path: String,
        _ mode: DaemonMode,
        _ parts: DaemonProgram.PartsReader
    ) throws(StartError) -> (Configuration, DaemonParts) {
        let file = mode == .system ? TrustedFile.ofAdministrator(path) : TrustedFile.ofUser(path)
        let text = try file.text() ?? ""
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
