import Foundation
import KeychainModel
import ScriptedDaemon
import Testing
import TouchstoneTesting

@Suite(
    "The last proof in touchstone status",
    .enabled(if: RealKeychain.isPossible, "touchstone and touchstoned are not both built")
)
struct LastProofTests {
    @Test("it is shown with its program, in words and as JSON, and ends with the daemon")
    func shown() async throws {
        let keychain = try await RealKeychain.ready()
        #expect(try await keychain.run("lock").status == 0)
        #expect(try await keychain.run("unlock").status == 0)
        let text = try await keychain.run("status").text
        #expect(text.contains(/\nLast proof: the passcode, [0-9]+ s ago, for touchstone\n/), "\(text)")
        let result = try await keychain.run("status", "--json")
        let json = try #require(JSONSerialization.jsonObject(with: Data(result.output)) as? [String: Any])
        let proofs = try #require(json["lastAuthentications"] as? [[String: Any]])
        #expect(proofs.count == 1)
        #expect(
            proofs[0]["factor"] as? String == "passcode" && proofs[0]["program"] as? String == "touchstone"
        )
        #expect(proofs[0]["weakSensor"] as? Bool == false && proofs[0]["secondsAgo"] is Int)
    }

    @Test("before any prompt there is none, and an older daemon's status is shown without it")
    func none() async throws {
        let keychain = try RealKeychain()
        let text = try await keychain.run("status").text
        #expect(text.contains("\nLast proof: none since the daemon's start\n"), "\(text)")

        let status = DoctorTests.Case("an older daemon").status
        let home = try TemporaryHome()
        let daemon = try ScriptedDaemon(home) { peer in
            try peer.welcome()
            while true {
                let request = try peer.next()
                guard request.head.method == .status else {
                    try peer.refuse(request, KeychainError(.unimplemented))
                    continue
                }
                try peer.reply(to: request, status)
            }
        }
        let older = try await CommandRun("status", home: home).run()
        #expect(older.status == 0 && !older.text.contains("Last proof"), "\(older.text)")
        _ = daemon
    }
}
