/// The file of the settings.
extension Configuration {
    /// Reads the file; a missing one is an empty one.
    static func read(_ path: String) throws(StartError) -> Configuration {
        guard let text = try TrustedFile.ofUser(path).text() else { return Configuration() }
        do throws(Fault) {
            return try Configuration(parsing: text)
        } catch {
            throw StartError(
                "\(path), line \(error.line): \(error.reason)",
                hint: "see touchstoned(8) for the settings"
            )
        }
    }
}
