import KeychainModel

extension SensorTable {
    /// Reads the file, which only root may be able to write; a missing file grades nothing.
    static func read(_ path: String) throws(StartError) -> SensorTable {
        let text = try TrustedFile.ofAdministrator(path).text() ?? ""
        do throws(Setting.Fault) {
            return try SensorTable(try Setting.all(in: text))
        } catch {
            throw StartError(
                "\(path), line \(error.line): \(error.reason)",
                hint: "see touchstoned(8) for the table of sensors"
            )
        }
    }
}
