import Foundation
import Glibc
import Testing
import TouchstoneTesting

@Suite(
    "The place of a keychain that moves to system mode",
    .serialized,
    .enabled(if: MovingMachine.isPossible, MovingMachine.reason),
    .timeLimit(.minutes(10))
)
struct MovedPlaceTests {
    @Test("a keychain in XDG_DATA_HOME is moved from there with --from, and moved back there")
    func elsewhere() async throws {
        let moving = try await MovingMachine()
        let data = moving.machine.home(of: MovingMachine.alice) + "/data"
        let place = data + "/touchstone"
        let variable = ["XDG_DATA_HOME": data]
        #expect(try await moving.run(["setup"], environment: variable).status == 0)
        let added = try await moving.run(
            ["set", "plain", "--require", "none"],
            environment: variable,
            input: "secret"
        )
        #expect(added.status == 0, "\(added.output)")
        let asked = try await moving.run(["system", "enable"], environment: variable)
        #expect(asked.status == 7, "\(asked.output)")
        #expect(
            asked.output.contains("hint: sudo touchstone system enable --from \(place)"),
            "\(asked.output)"
        )
        let own = try await moving.run(["system", "status", "--json"], environment: variable)
        #expect(own.output.contains("\"directory\": \"\(place)\""), "\(own.output)")

        // Root's environment lacks the variable, but the running daemon knows.
        let refused = try await moving.move("enable")
        #expect(refused.status == 7, "\(refused.output)")
        #expect(refused.output.contains("keeps the keychain in \(place)"), "\(refused.output)")
        #expect(refused.output.contains("--from \(place)"), "\(refused.output)")
        #expect(!moving.systemNames.contains("\(MovingMachine.alice.uid)"))

        #expect(try await moving.move("enable", ["--from", place]).status == 7)
        let daemon = try await moving.startDaemon()
        // The origin is recorded from now on.
        let done = try await moving.move("enable")
        #expect(done.status == 0, "\(done.output)")
        #expect(try FileManager.default.contentsOfDirectory(atPath: place) == ["moved"])
        #expect(moving.ownNames.isEmpty)
        let read = try await moving.run(["get", "plain"], environment: variable)
        #expect(read.status == 0 && read.output == "secret", "\(read.output)")

        let back = try await moving.move("disable")
        #expect(back.status == 0, "\(back.output)")
        try await Deadline.wait(for: "the daemon's end") { daemon.process.isRunning ? nil : true }
        #expect(moving.systemNames.isEmpty && moving.ownNames.isEmpty)
        let again = try await moving.run(["get", "plain"], environment: variable)
        #expect(again.status == 0 && again.output == "secret", "\(again.output)")
    }

    @Test(
        "a directory that no daemon would use is refused",
        arguments: ["data", "/home/alice/keychain", "/"]
    )
    func refused(path: String) async throws {
        let moving = try await MovingMachine()
        for step in ["enable", "disable"] {
            let finished = try await moving.move(step, ["--from", path])
            #expect(finished.status == 64, "\(finished.output)")
            #expect(
                finished.output.contains("hint: give the absolute path"),
                "\(finished.output)"
            )
        }
        #expect(moving.systemNames.isEmpty)
    }

    @Test("a user without a keychain can enable system mode repeatedly and set up there")
    func none() async throws {
        let moving = try await MovingMachine()
        let begun = try await moving.move("enable")
        #expect(begun.status == 7, "\(begun.output)")
        #expect(begun.output.contains("alice has no keychain in \(moving.ownDirectory)"), "\(begun.output)")
        #expect(moving.ownNames == ["moved"])
        for _ in 0..<2 {
            let again = try await moving.move("enable")
            #expect(again.status == 10, "\(again.output)")
        }
        let daemon = try await moving.startDaemon()
        #expect(try await moving.run(["setup"]).status == 0)
        let added = try await moving.run(["set", "plain", "--require", "none"], input: "secret")
        #expect(added.status == 0, "\(added.output)")
        #expect(moving.ownNames == ["moved"])
        let back = try await moving.move("disable")
        #expect(back.status == 0, "\(back.output)")
        try await Deadline.wait(for: "the daemon's end") { daemon.process.isRunning ? nil : true }
        let read = try await moving.run(["get", "plain"])
        #expect(read.status == 0 && read.output == "secret", "\(read.output)")
    }

    @Test("doctor reports an unsafe directory instead of saying that system mode is off")
    func doctor() async throws {
        let moving = try await MovingMachine()
        #expect(try await moving.run(["setup"]).status == 0)
        #expect(try await moving.run(["doctor"]).output.contains("off: the keychain is this user's own"))
        #expect(chmod(moving.ownDirectory, 0o755) == 0)
        let doubtful = try await moving.run(["doctor"]).output
        #expect(doubtful.contains("cannot be told: \(moving.ownDirectory) has mode 755"), "\(doubtful)")
        #expect(!doubtful.contains("off: the keychain is this user's own"))
    }
}
