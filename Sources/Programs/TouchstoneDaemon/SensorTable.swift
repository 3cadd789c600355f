import KeychainModel

/// The administrator's table of sensors: what a match on each is worth.
///
/// Each line is fprintd's name of a sensor, which libfprint gives to all sensors of one driver, and its grade:
///
/// ```
/// Goodix MOC Fingerprint Sensor = strong match-on-chip
/// Validity VFS101 = weak
/// ```
///
/// A sensor without a line has no grade: fprintd tells neither driver nor class, and nothing is assumed.
struct SensorTable: Sendable, Equatable {
    private var facts: [String: SensorFacts] = [:]

    /// No sensor has a grade.
    init() {}

    /// Reads the lines of a table.
    init(_ lines: [Setting]) throws(Setting.Fault) {
        for line in lines {
            let words = line.value.split(whereSeparator: \.isWhitespace)
            var facts = SensorFacts()
            switch words.first {
            case "strong": facts.grade = .strong
            case "weak": facts.grade = .weak
            default: throw line.fault("must be strong or weak")
            }
            switch words.dropFirst() {
            case []: break
            case ["match-on-chip"]: facts.matchesOnChip = true
            default: throw line.fault("may have match-on-chip after its grade, and nothing else")
            }
            self.facts[line.key] = facts
        }
    }

    /// Reads the file, which nobody but root may be able to write; a missing one grades nothing.
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

    /// What it says of the sensor of this name.
    func grade(of sensor: String) -> SensorFacts { facts[sensor] ?? SensorFacts() }
}
