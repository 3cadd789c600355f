import KeychainModel

/// The administrator's table of sensors: the grade of a match on each.
///
/// Each line is fprintd's name of a sensor, which libfprint gives to all sensors of one driver, and its grade:
///
/// ```
/// Goodix MOC Fingerprint Sensor = strong match-on-chip
/// Validity VFS101 = weak
/// ```
///
/// A sensor without a line has no grade: fprintd reports neither driver nor class, and nothing is assumed.
struct SensorTable: Sendable, Equatable {
    private var facts: [String: SensorFacts] = [:]

    /// Creates an empty table: no sensor has a grade.
    init() {}

    /// Parses the lines of a table.
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

    /// The grade of the sensor with this name.
    func grade(of sensor: String) -> SensorFacts { facts[sensor] ?? SensorFacts() }
}
