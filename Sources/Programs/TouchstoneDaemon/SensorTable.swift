import KeychainModel

/// Grades of sensors, each by fprintd's name of a sensor, which libfprint gives to all sensors of one driver.
///
/// The administrator's table has a line for each, with its grade:
///
/// ```
/// Goodix MOC Fingerprint Sensor = strong match-on-chip secure-channel no-liveness
/// Validity VFS101 = weak
/// Sensor with a known hole = unsafe
/// ```
///
/// A line `sensor NAME` of the daemon's settings grades a sensor `weak` or `unsafe`, or accepts it without a grade. It cannot make it
/// strong: in per-user mode every program of the user could write such a line, and servers rely on the grade.
struct SensorTable: Sendable, Equatable {
    /// What the settings that grade a sensor begin with.
    static let settingPrefix = "sensor "

    private(set) var facts: [String: SensorFacts] = [:]

    /// Creates an empty table: no sensor has a grade.
    init() {}

    /// Creates a table of these sensors.
    init(_ facts: [String: SensorFacts]) { self.facts = facts }

    /// Parses the lines of the administrator's table.
    init(_ lines: [Setting]) throws(Setting.Fault) {
        for line in lines {
            let words = line.value.split(whereSeparator: \.isWhitespace)
            var facts = SensorFacts(gradedBy: .administrator)
            switch words.first {
            case "strong": facts.grade = .strong
            case "weak": facts.grade = .weak
            case "unsafe": facts.grade = .unsafe
            default: throw line.fault("must be strong, weak or unsafe")
            }
            for word in words.dropFirst() {
                guard Self.take(word, in: &facts) else {
                    throw line.fault(
                        "may have match-on-chip, secure-channel or no-secure-channel, and liveness or no-liveness after its grade"
                    )
                }
            }
            self.facts[line.key] = facts
        }
    }

    /// Takes a word after a grade; false for an unknown one, or one that was said already.
    private static func take(_ word: Substring, in facts: inout SensorFacts) -> Bool {
        switch word {
        case "match-on-chip" where !facts.matchesOnChip: facts.matchesOnChip = true
        case "secure-channel" where facts.hasSecureChannel == nil: facts.hasSecureChannel = true
        case "no-secure-channel" where facts.hasSecureChannel == nil: facts.hasSecureChannel = false
        case "liveness" where facts.detectsLiveness == nil: facts.detectsLiveness = true
        case "no-liveness" where facts.detectsLiveness == nil: facts.detectsLiveness = false
        default: return false
        }
        return true
    }

    /// Accepts these sensors without a grade.
    static func accepting(_ sensors: [String]) -> SensorTable {
        let accepted = SensorFacts(grade: .ungraded, gradedBy: .settings)
        return SensorTable(Dictionary(sensors.map { ($0, accepted) }) { $1 })
    }

    /// Takes a line of the daemon's settings.
    ///
    /// - Returns: false if it grades no sensor.
    /// - Throws: ``Setting/Fault`` for another grade than `weak`, `unsafe` and `accepted`.
    mutating func take(_ setting: Setting) throws(Setting.Fault) -> Bool {
        guard setting.key.hasPrefix(Self.settingPrefix) else { return false }
        let sensor = String(setting.key.dropFirst(Self.settingPrefix.count).drop { $0.isWhitespace })
        switch setting.value {
        case "weak": facts[sensor] = SensorFacts(grade: .weak, gradedBy: .settings)
        case "unsafe": facts[sensor] = SensorFacts(grade: .unsafe, gradedBy: .settings)
        case "accepted": facts[sensor] = SensorFacts(grade: .ungraded, gradedBy: .settings)
        case "strong":
            throw setting.fault(
                "can be made strong only by the administrator, in /etc/touchstone/sensors.conf"
            )
        default: throw setting.fault("must be accepted, weak or unsafe")
        }
        return true
    }

    /// This table, and for sensors that it does not have another one.
    func over(_ other: SensorTable) -> SensorTable {
        SensorTable(facts.merging(other.facts) { mine, _ in mine })
    }

    /// The grade of the sensor with this name; ungraded, by nobody, if the table does not have it.
    func grade(of sensor: String) -> SensorFacts { facts[sensor] ?? SensorFacts() }
}
