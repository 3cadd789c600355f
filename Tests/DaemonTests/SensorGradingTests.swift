import Foundation
import KeychainModel
import Testing
import TouchstoneTesting

@testable import TouchstoneDaemon

@Suite("Grades of sensors")
struct SensorGradingTests {
    private static let onChip = "Goodix MOC Fingerprint Sensor"
    private static let image = "Validity VFS101"

    private static func administrator(_ text: String) throws -> SensorTable {
        try SensorTable(try Setting.all(in: text))
    }

    private static func settings(_ text: String) throws -> SensorTable {
        try Configuration(try Setting.all(in: text)).sensors
    }

    /// As the daemon combines them.
    private static func grade(
        _ sensor: String,
        administrator: String = "",
        settings: String = "",
        accepted: [String] = []
    ) throws -> SensorFacts {
        try Self.administrator(administrator).over(Self.settings(settings)).over(.accepting(accepted))
            .over(.known).grade(of: sensor)
    }

    @Test(
        "the administrator's grade comes before the settings', and these before what is known of the driver"
    )
    func precedence() throws {
        for sensor in [Self.onChip, Self.image, "unlisted"] {
            for setting in ["", "sensor \(sensor) = weak", "sensor \(sensor) = accepted"] {
                for accepted in [[], [sensor]] {
                    for (line, grade) in [("strong", SensorFacts.Grade.strong), ("weak", .weak)] {
                        let facts = try Self.grade(
                            sensor,
                            administrator: "\(sensor) = \(line)",
                            settings: setting,
                            accepted: accepted
                        )
                        #expect(facts == SensorFacts(grade: grade, gradedBy: .administrator))
                    }
                    // Another sensor's line changes nothing.
                    let facts = try Self.grade(
                        sensor,
                        administrator: "another = strong\n\(sensor)2 = strong",
                        settings: setting,
                        accepted: accepted
                    )
                    if setting.hasSuffix("weak") {
                        #expect(facts == SensorFacts(grade: .weak, gradedBy: .settings) && facts.isWeak)
                    } else if setting.hasSuffix("accepted") || !accepted.isEmpty {
                        #expect(facts == SensorFacts(gradedBy: .settings) && !facts.isWeak)
                    } else {
                        #expect(facts.gradedBy == (sensor == "unlisted" ? .nobody : .driver))
                        #expect(facts.isWeak == (sensor != Self.onChip))
                    }
                }
            }
        }
        #expect(try Self.grade("unlisted") == SensorFacts())
    }

    @Test(
        "the settings accept a sensor or call it weak or unsafe, never strong",
        arguments: ["strong", "", "Weak", "weak x", "on"]
    )
    func refused(value: String) throws {
        let fault = #expect(throws: Setting.Fault.self) {
            try Self.settings("biometry = on\nsensor A B = \(value)")
        }
        #expect(fault?.line == 2 && fault?.reason.hasPrefix("sensor A B ") == true)
        #expect(fault?.reason.contains("sensors.conf") == (value == "strong"))
        #expect(try Self.settings("sensor A B = unsafe").grade(of: "A B").grade == .unsafe)
    }

    @Test("a name has words, signs and its own case, and each is graded once")
    func names() throws {
        let name = "AuthenTec AES2550/AES2810"
        #expect(
            try Self.settings("sensor  \(name)  =  accepted # mine").grade(of: name).gradedBy == .settings
        )
        #expect(try Self.settings("sensor \(name) = accepted").grade(of: name.lowercased()) == SensorFacts())
        #expect(throws: Setting.Fault.self) {
            try Self.settings("sensor \(name) = accepted\nsensor \(name) = weak")
        }
        #expect(throws: Setting.Fault.self) { try Self.settings("sensors = weak") }
        #expect(throws: Setting.Fault.self) { try Self.settings("sensor = weak") }
    }

    private static let library = "/usr/lib/x86_64-linux-gnu/libfprint-2.so.2"

    @Test(
        "the drivers' names are those of the installed libfprint",
        .enabled(if: FileManager.default.fileExists(atPath: library), "libfprint is not there")
    )
    func drivers() throws {
        let text = try Data(contentsOf: URL(fileURLWithPath: Self.library))
        // Of drivers that came after version 1.94.5.
        let later = [
            "Egis Technology (LighTuning) Match-on-Chip", "Focaltech MOC Sensors",
            "Realtek MOC Fingerprint Sensor",
        ]
        for (name, facts) in SensorTable.known.facts where !later.contains(name) {
            #expect(text.range(of: Data("\0\(name)\0".utf8)) != nil, "\(name)")
            #expect(facts.gradedBy == .driver && facts.grade != .ungraded)
        }
        // What the library says of its virtual sensors is nothing.
        #expect(SensorTable.known.facts.keys.allSatisfy { !$0.hasPrefix("Virtual") })
    }
}
