import Glibc
import KeychainModel
import Testing
import TouchstoneTesting

/// Only root can create the administrator's file.
@Suite(
    "The administrator's sensor table",
    .enabled(if: Programs.isBuilt, "touchstoned is not built"),
    .enabled(if: geteuid() == 0, "not root")
)
struct SensorTableTests {
    private let home: DaemonHome
    private let table: String

    init() throws {
        home = try DaemonHome()
        table = home.directory.appending("sensors.conf")
        _ = try home.directory.write("test.sensor-table = \(table)\n", to: "touchstoned.conf")
    }

    private func check(_ text: String, mode: mode_t = 0o644) async throws -> Finished {
        chmod(try home.directory.write(text, to: "sensors.conf"), mode)
        return try await Finished.running(
            [Programs.touchstoned, "--check-configuration"],
            environment: home.environment
        )
    }

    @Test("each line has a name and a grade, and the file may be missing")
    func accepted() async throws {
        let finished = try await Finished.running(
            [Programs.touchstoned, "--check-configuration"],
            environment: home.environment
        )
        #expect(finished.status == 0, "\(finished.output)")
        let good =
            "# ours\nGoodix MOC Fingerprint Sensor = strong match-on-chip\n\nVFS101=weak # old\n"
            + "A = unsafe\nB = weak no-liveness no-secure-channel\nC = strong secure-channel match-on-chip liveness\n"
        #expect(try await check(good).status == 0)
        #expect(try await check("").status == 0)
    }

    @Test(
        "any other line is refused with its number",
        arguments: [
            "sensor = good", "sensor =", "sensor", "sensor = strong fast", "sensor = weak match-on-chip now",
            "sensor = Strong", "sensor = strong\nsensor = weak", "sensor = unsafe CVE",
            "sensor = match-on-chip",
            "sensor = strong liveness no-liveness", "sensor = weak match-on-chip match-on-chip",
        ]
    )
    func refused(text: String) async throws {
        let finished = try await check(text)
        let line = text.contains("\n") ? 2 : 1
        #expect(finished.status == 1)
        #expect(finished.output.contains("sensors.conf, line \(line): "), "\(finished.output)")
        #expect(finished.output.contains("\nhint: "))
    }

    @Test("a file that others can write is refused")
    func writable() async throws {
        let finished = try await check("sensor = strong\n", mode: 0o666)
        #expect(finished.status == 1)
        #expect(finished.output.contains("others may write"))
        chmod(table, 0o644)
        chown(table, 12345, 12345)
        let foreign = try await Finished.running(
            [Programs.touchstoned, "--check-configuration"],
            environment: home.environment
        )
        #expect(foreign.status == 1)
        #expect(foreign.output.contains("others may write"))
    }
}
