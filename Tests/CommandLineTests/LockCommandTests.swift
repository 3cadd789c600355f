import Foundation
import KeychainModel
import ScriptedDaemon
import Testing
import TouchstoneTesting

@Suite(
    "touchstone lock",
    .enabled(if: RealKeychain.isPossible, "touchstone and touchstoned are not both built")
)
struct LockCommandTests {
    private static func status(_ keychain: RealKeychain) async throws -> [String: Any] {
        let result = try await keychain.run("status", "--json")
        return try #require(JSONSerialization.jsonObject(with: Data(result.output)) as? [String: Any])
    }

    @Test("--after locks then, and status shows what is left until then")
    func after() async throws {
        let keychain = try await RealKeychain.ready()
        #expect(try await Self.status(keychain)["locksInSeconds"] is NSNull)
        #expect(try await keychain.run("lock", "--after", "8h").errors.isEmpty)
        let left = try #require(try await Self.status(keychain)["locksInSeconds"] as? Int)
        #expect((28_700...28_800).contains(left))
        #expect(try await keychain.run("status").text.contains("\n            in 8 h, by lock --after\n"))
        // Another one replaces it.
        #expect(try await keychain.run("lock", "--after", "1 s").status == 0)
        try await Deadline.wait(for: "the lock") {
            try await Self.status(keychain)["keychain"] as? String == "lockedAfterFirstUnlock" ? true : nil
        }
        #expect(try await Self.status(keychain)["locksInSeconds"] is NSNull)
    }

    @Test(
        "a lock before then ends it, and a locked keychain has none",
        arguments: [["lock"], ["lock", "--now"]]
    )
    func ended(command: [String]) async throws {
        let keychain = try await RealKeychain.ready()
        #expect(try await keychain.run("lock", "--after", "1h").status == 0)
        #expect(try await keychain.run(all: command).status == 0)
        #expect(try await Self.status(keychain)["keychain"] as? String == "lockedAfterFirstUnlock")
        #expect(try await keychain.run("lock", "--after", "1h").status == 0)
        #expect(try await Self.status(keychain)["locksInSeconds"] is NSNull)
        #expect(try await keychain.run("unlock").status == 0)
        #expect(try await Self.status(keychain)["locksInSeconds"] is NSNull)
    }

    @Test("without a keychain there is nothing to lock")
    func notSetUp() async throws {
        let keychain = try RealKeychain()
        #expect(try await keychain.run("lock", "--after", "1h").status == 0)
        #expect(try await Self.status(keychain)["locksInSeconds"] is NSNull)
    }

    @Test(
        "another time is refused with what is right",
        arguments: [
            (["--after", "soon"], "a time is a whole number and s, min or h, as in 20min"),
            (["--after", "10"], "a time is a whole number and s, min or h, as in 20min"),
            (["--after", "0s"], "a time is from 1s to 168h"),
            (["--after", "8000min", "--after", "9h", "--now"], "--now goes without --after"),
            (["--after", "169h"], "a time is from 1s to 168h"),
            (["--after", "\u{1B}[31mred"], "a time is a whole number and s, min or h, as in 20min"),
        ]
    )
    func refused(arguments: [String], message: String) async throws {
        let keychain = try RealKeychain()
        let result = try await keychain.run(all: ["lock"] + arguments)
        #expect(result.status == 64)
        #expect(result.errors.contains(message), "\(result.errors)")
        #expect(!result.errors.contains("\u{1B}"))
    }
}
