import Foundation
import KeychainModel
import ScriptedDaemon
import Testing
import TouchstoneTesting

@Suite("The sensor's grade", .enabled(if: Programs.isBuilt(Programs.touchstone), "touchstone is not built"))
struct SensorStatusTests {
    private func daemon(
        _ home: TemporaryHome,
        _ authentication: AuthenticationStatus,
        _ facts: SensorFacts = SensorFacts()
    ) throws -> ScriptedDaemon {
        var status = StatusReply(
            keybag: .unlocked,
            assurance: .softwareUser,
            assuranceReasons: [],
            authentication: authentication,
            promptFault: nil,
            daemonVersion: "1.2",
            daemonProcess: 4711
        )
        status.authentication.sensorFacts = facts
        let reply = status
        return try ScriptedDaemon(home) { peer in
            try peer.welcome()
            while true { try peer.reply(to: try peer.next(), reply) }
        }
    }

    @Test(
        "status says the sensor's grade and where it comes from",
        arguments: [
            (SensorFacts(), "Sensor:     Goodix MOC, ungraded, which counts as weak", "ungraded", "nobody"),
            (
                SensorFacts(gradedBy: .settings),
                "Sensor:     Goodix MOC, ungraded, accepted by touchstoned.conf",
                "ungraded", "settings"
            ),
            (
                SensorFacts(grade: .weak, gradedBy: .driver),
                "Sensor:     Goodix MOC, weak, by what is known of its driver", "weak", "driver"
            ),
            (
                SensorFacts(grade: .strong, gradedBy: .administrator),
                "Sensor:     Goodix MOC, strong, by /etc/touchstone/sensors.conf", "strong", "administrator"
            ),
        ]
    )
    func grades(facts: SensorFacts, line: String, grade: String, source: String) async throws {
        let home = try TemporaryHome()
        let daemon = try daemon(
            home,
            AuthenticationStatus(sensor: "Goodix MOC", fingers: ["left-thumb"], binding: .templates),
            facts
        )
        let text = try await CommandRun("status", home: home).run().text
        #expect(text.contains(line + "\n"), "\(text)")
        let json = try await CommandRun("status", "--json", home: home).run()
        let object = try #require(JSONSerialization.jsonObject(with: Data(json.output)) as? [String: Any])
        #expect(object["sensorGrade"] as? String == grade && object["sensorGradedBy"] as? String == source)
        _ = daemon
    }

    @Test("status says that a sensor was unplugged or cannot be used, and no grade of it")
    func unusable() async throws {
        for (fault, line) in [
            (FingerprintError(.disconnected).cause, "Sensor:     unplugged\n"),
            (FingerprintError(.noSuchDevice).cause, "Sensor:     cannot be used (fprintd: NoSuchDevice)\n"),
        ] {
            let home = try TemporaryHome()
            let daemon = try daemon(home, AuthenticationStatus(sensorFault: fault))
            #expect(try await CommandRun("status", home: home).run().text.contains(line))
            let json = try await CommandRun("status", "--json", home: home).run()
            let object = try #require(JSONSerialization.jsonObject(with: Data(json.output)) as? [String: Any])
            #expect(object["sensorGrade"] is NSNull && object["sensorGradedBy"] is NSNull)
            _ = daemon
        }
    }
}
