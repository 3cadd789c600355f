import Glibc
import KeychainClient
import KeychainModel
import Testing
import TouchstoneTesting

@Suite(
    "A crash at every write",
    .serialized,
    .enabled(if: Strace.isThere, "needs root and strace")
)
struct KillPointTests {
    /// Starts the daemon, to be killed at one call, and runs the script; returns the number of answers and
    /// whether it was killed.
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
            // Empties the log, so that the deleted items' records are overwritten.
            try keychain.client.lock()
        } catch {
            return (count, true)
        }
        return (count, false)
    }

    // Catches a store that answers before the flush, or writes outside a transaction, and so loses
    // acknowledged items.
    @Test(
        "after a kill at any write the store opens with all acknowledged items and no deleted ones",
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
                // From time to time the daemon itself is used, which takes longer.
                guard killed.values.reduce(0, +) % 8 == 1 else { continue }
                try await keychain.start()
                try keychain.unlock()
                #expect(model.faults(in: try keychain.all()).isEmpty, "\(call) \(number)")
                keychain.stop(with: SIGKILL)
            }
        }
        // Nine changes, each of several writes and a flush, besides those of starting and of emptying the
        // log.
        #expect(killed["pwrite64", default: 0] >= 12 && killed["fdatasync", default: 0] >= 9, "\(killed)")
    }

    // Catches a keybag written before the items, or in place, which is damaged or opens an absent store.
    @Test("after a kill during set-up there is no keychain, or one that opens", .timeLimit(.minutes(20)))
    func setUp() async throws {
        let keychain = try PrivateKeychain()
        var killed: [String: Int] = [:]
        for call in ["renameat", "renameat2", "fsync", "fdatasync", "ftruncate", "pwrite64"] {
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
        // Device key, attempt file and set-up mark are each put in place by a rename; keybag, its copy and
        // the items by one that replaces nothing.
        #expect(killed["renameat", default: 0] >= 3 && killed["fsync", default: 0] >= 6, "\(killed)")
        #expect(killed["renameat2", default: 0] >= 3, "\(killed)")
    }

    /// Expects that an unfinished keychain can be set up and a finished one opens.
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

    // Catches a keybag changed in place, or whose old file is wiped too early, which opens with neither
    // passcode.
    @Test("after a kill during a passcode change exactly one of the two passcodes opens")
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
                // The keychain is locked, so only the calls of the change are counted.
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
        // Both outcomes occurred.
        #expect(outcomes.count == 2, "\(outcomes)")
    }
}
