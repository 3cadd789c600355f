import Glibc
import KeychainClient
import KeychainModel
import Testing
import TouchstoneTesting

@Suite(
    "A crash at the worst moment",
    .serialized,
    .enabled(if: Strace.isThere, "needs root and strace")
)
struct KillPointTests {
    /// Starts the daemon, which is killed at one call, and plays the script; gives the answers that came.
    private func answers(_ keychain: PrivateKeychain, killedAt number: Int, of call: String) async -> (
        Int, Bool
    ) {
        var count = 0
        do {
            try await keychain.start(through: Strace.wrapper(Strace.killing(at: number, of: call)))
            try keychain.unlock()
            for change in Change.script {
                try keychain.apply(change)
                count += 1
            }
            // Empties the log: the deleted items' records are overwritten.
            try keychain.client.lock()
        } catch {
            return (count, true)
        }
        return (count, false)
    }

    // A store that answers before it flushed, or writes outside of a transaction, loses acknowledged items.
    @Test(
        "killed at a write, the store opens, holds all that was acknowledged and nothing that was deleted",
        .timeLimit(.minutes(20))
    )
    func items() async throws {
        let keychain = try await PrivateKeychain.withFormerItems()
        keychain.stop(with: SIGKILL)
        let former = try FileImage(of: keychain.layout.dataDirectory)
        var killed: [String: Int] = [:]
        for call in Strace.writes {
            for number in 1..<2000 {
                try former.write(to: keychain.layout.dataDirectory)
                let (count, wasKilled) = await answers(keychain, killedAt: number, of: call)
                keychain.stop(with: SIGKILL)
                guard wasKilled else { break }
                killed[call, default: 0] += 1
                let model = Change.model(afterAnswers: count)
                let image = try FileImage(of: keychain.layout.dataDirectory)
                let faults = try await OpenedImage(image).faults(model)
                #expect(faults.isEmpty, "killed at \(call) \(number) after \(count) answers")
                // Now and then the daemon itself, which takes longer.
                guard killed.values.reduce(0, +) % 8 == 1 else { continue }
                try await keychain.start()
                try keychain.unlock()
                #expect(model.faults(in: try keychain.all()).isEmpty, "\(call) \(number)")
                keychain.stop(with: SIGKILL)
            }
        }
        // Nine changes, each of some writes and a flush, beside those of starting and of emptying the log.
        #expect(killed["pwrite64", default: 0] >= 12 && killed["fdatasync", default: 0] >= 9, "\(killed)")
    }

    // A keybag that is written before the items, or in place, is damaged or opens an absent store.
    @Test("killed while it is made, a keychain is not there at all or opens", .timeLimit(.minutes(20)))
    func setUp() async throws {
        let keychain = try PrivateKeychain()
        var killed: [String: Int] = [:]
        for call in ["renameat", "fsync", "fdatasync", "ftruncate", "pwrite64"] {
            for number in stride(from: 1, to: 500, by: call == "pwrite64" ? 6 : 1) {
                try FileImage().write(to: keychain.layout.dataDirectory)
                var isMade = false
                var wasKilled = false
                do {
                    try await keychain.start(through: Strace.wrapper(Strace.killing(at: number, of: call)))
                    try keychain.client.setUp(keychain.prompt())
                    isMade = true
                } catch {
                    wasKilled = true
                }
                keychain.stop(with: SIGKILL)
                guard wasKilled else { break }
                killed[call, default: 0] += 1
                let image = try FileImage(of: keychain.layout.dataDirectory)
                try await Self.checkMade(image, isMade: isMade, "killed at \(call) \(number)")
            }
        }
        // Device key, attempts and keybag are each put in place by a rename.
        #expect(killed["renameat", default: 0] >= 3 && killed["fsync", default: 0] >= 6, "\(killed)")
    }

    /// A keychain that was not made can be made, one that was opens.
    static func checkMade(_ image: FileImage, isMade: Bool, _ moment: String) async throws {
        let found = try await OpenedImage(image)
        if found.state == .notSetUp {
            #expect(!isMade, "\(moment): it was acknowledged")
            let canBeMade = try await OpenedImage.canBeMade(in: image)
            #expect(canBeMade, "\(moment): it cannot be made any more")
        } else {
            #expect(found.faults(Model()).isEmpty, "\(moment)")
            #expect(found.attempts != nil, "\(moment): the attempts are damaged")
        }
    }

    // A keybag that is changed in place, or whose old file is wiped too early, opens with neither passcode.
    @Test("killed during a change of the passcode, exactly one of the old and the new one opens")
    func passcodeChange() async throws {
        let new = "harbour velvet copper lantern sparrow"
        let keychain = try await PrivateKeychain.withFormerItems()
        keychain.stop(with: SIGKILL)
        let former = try FileImage(of: keychain.layout.dataDirectory)
        var outcomes: [String: Int] = [:]
        var killed = 0
        for call in Strace.writes {
            for number in 1..<40 {
                try former.write(to: keychain.layout.dataDirectory)
                try await keychain.start()
                // The keychain is locked: what is counted is the change alone.
                let strace = try await Strace.attach(
                    to: keychain.processID,
                    Strace.killing(at: number, of: call)
                )
                try keychain.tellPerson([.types(PrivateKeychain.passcode), .types(new)])
                var wasKilled = false
                do {
                    try keychain.client.changePasscode(keychain.prompt())
                } catch {
                    wasKilled = true
                }
                keychain.stop(with: SIGKILL)
                strace.detach()
                guard wasKilled else { break }
                killed += 1
                let image = try FileImage(of: keychain.layout.dataDirectory)
                let found = try await OpenedImage(image, passcodes: [PrivateKeychain.passcode, new])
                #expect(found.opening.count == 1, "killed at \(call) \(number): \(found.state)")
                #expect(found.faults(Change.model(afterAnswers: 0)).isEmpty, "killed at \(call) \(number)")
                #expect(
                    found.attempts.map { $0.passcodeFailures <= 1 } == true,
                    "killed at \(call) \(number)"
                )
                for passcode in found.opening { outcomes[passcode, default: 0] += 1 }
            }
        }
        #expect(killed >= 6, "only \(killed) points were found")
        // Both sides of the change were seen.
        #expect(outcomes.count == 2, "\(outcomes)")
    }
}
