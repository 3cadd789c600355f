import KeychainModel
import ScriptedDaemon
import Testing
import TouchstoneTesting

/// A missing sensor is a fact, unless secrets wait for it: then the passcode does not open them.
@Suite(
    "Secrets that wait for a sensor",
    .enabled(if: RealKeychain.isPossible, "touchstone and touchstoned are not both built")
)
struct WaitingForSensorTests {
    private func keychain(_ settings: [String] = []) async throws -> (RealKeychain, ScriptedFprintd) {
        let bus = try await PrivateBus.start(sensors: [])
        let fprintd = try await ScriptedFprintd.start(on: bus)
        return (try await .ready(bus: bus, settings: settings), fprintd)
    }

    private func sensorLine(_ keychain: RealKeychain) async throws -> String {
        let doctor = try await keychain.run("doctor").text
        return doctor.split(separator: "\n").first { $0.contains("  sensor: ") }.map(String.init) ?? doctor
    }

    @Test(
        "doctor warns of a missing sensor if secrets open only with a finger, and names them",
        arguments: [0, 1, 2, 5]
    )
    func waiting(count: Int) async throws {
        let (keychain, fprintd) = try await keychain()
        for number in 0..<count {
            #expect(
                try await keychain.run("set", "f\(number)", "--require", "finger", input: "x").status == 0
            )
        }
        for rule in ["passcode", "either", "none"] {
            #expect(try await keychain.run("set", rule, "--require", rule, input: "x").status == 0)
        }
        #expect(try await !sensorLine(keychain).contains("finger:"), "with the sensor there is no warning")
        fprintd.change { $0.sensors = [] }
        let line = try await sensorLine(keychain)
        switch count {
        case 0: #expect(line == "ok    sensor: none, it was unplugged; the passcode is asked for", "\(line)")
        case 1: #expect(line == "warn  sensor: none, and a secret opens only with a finger: 'f0'", "\(line)")
        case 2:
            #expect(
                line == "warn  sensor: none, and 2 secrets open only with a finger: 'f0', 'f1'",
                "\(line)"
            )
        default:
            #expect(
                line
                    == "warn  sensor: none, and 5 secrets open only with a finger: 'f0', 'f1', 'f2' and 2 more",
                "\(line)"
            )
        }
        #expect(try await keychain.run("doctor").status == 0, "a warning is no failure")
    }

    @Test(
        "locked names are listed or not as the setting says, and nothing prompts",
        arguments: [true, false]
    )
    func locked(areHidden: Bool) async throws {
        let (keychain, fprintd) = try await keychain(areHidden ? ["names-while-locked = hidden"] : [])
        #expect(try await keychain.run("set", "f", "--require", "finger", input: "x").status == 0)
        #expect(try await keychain.run("lock").status == 0)
        fprintd.change { $0.sensors = [] }
        let prompts = keychain.prompts
        let line = try await sensorLine(keychain)
        #expect(
            line.hasPrefix(areHidden ? "ok    sensor: none" : "warn  sensor: none, and a secret opens"),
            "\(line)"
        )
        #expect(keychain.prompts == prompts)
    }
}
