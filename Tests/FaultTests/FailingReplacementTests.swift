import Glibc
import KeychainClient
import KeychainModel
import Testing
import TouchstoneTesting

/// The disk fails at one system call of the keybag's replacement, or from one on.
@Suite(
    "A disk that fails while the keybag is replaced",
    .serialized,
    .enabled(if: Strace.isThere && access("/usr/bin/swtpm", X_OK) == 0, "needs root, strace and swtpm"),
    .timeLimit(.minutes(60))
)
struct FailingReplacementTests {
    enum Operation: CaseIterable, Sendable {
        case change, recover
    }

    /// The failing call: the first number is the one of the new keybag's own file in a change.
    struct Failure: Sendable, CustomStringConvertible {
        let call: String
        let error: String
        let when: String

        var description: String { "\(call) \(when): \(error)" }
        var options: [String] { Strace.injecting("error=\(error)", into: call, when: when) }

        /// Every call that a replacement makes; the counts are those of a thread, and end beyond the last one.
        static let all: [Failure] = {
            let calls: [(String, [Int], [Int])] = [
                ("fsync", [1, 2, 4], Array(1...10)), ("renameat", [1, 2], Array(1...5)),
                ("pwrite64", [2], Array(1...12)), ("fchmod", [1], Array(1...4)),
                ("unlinkat", [], Array(1...4)), ("openat", [], Array(1...24)),
            ]
            return calls.flatMap { call, usual, full in
                CaseSize.of(usual, full: full).flatMap { number in
                    CaseSize.of(["EIO"], full: ["EIO", "ENOSPC"]).flatMap { error in
                        ["\(number)", "\(number)+"].map { Failure(call: call, error: error, when: $0) }
                    }
                }
            }
        }()
    }

    private static let passcodes = [PrivateKeychain.passcode, "harbour velvet copper lantern sparrow"]

    // Catches a new seal that is destroyed although the new keybag is on the disk: then both passcodes are closed.
    @Test(
        "exactly one of both passcodes opens it, in this run and the next; the new one after an acknowledgement",
        arguments: Operation.allCases,
        [false, true]
    )
    func replacement(_ operation: Operation, hasChip: Bool) async throws {
        let chip: SoftwareTPM? = try await hasChip ? SoftwareTPM.start() : nil
        let keychain = try await PrivateKeychain.ready(tpm: chip?.tcti)
        try keychain.add("kept", "kept")
        var present = 0
        var failed = 0
        for failure in Failure.all {
            do {
                let outcome = try await Self.replace(operation, by: 1 - present, under: failure, of: keychain)
                present = outcome.opener
                if !outcome.isChanged { failed += 1 }
            } catch {
                Issue.record("\(operation), \(failure): \(error); \(keychain.report)")
                throw error
            }
        }
        #expect(failed > 0)
        if let chip {
            // The seal and the two counters, and what the chip knows the keychain by.
            #expect(try await chip.indices().count <= 4)
        }
    }

    /// Replaces the keybag once while a call fails, and says whether it was acknowledged and which passcode opens it then.
    private static func replace(
        _ operation: Operation,
        by next: Int,
        under failure: Failure,
        of keychain: PrivateKeychain
    ) async throws -> (isChanged: Bool, opener: Int) {
        let strace = try await Strace.attach(to: keychain.processID, failure.options)
        try keychain.tellPerson([
            operation == .change ? .types(passcodes[1 - next]) : .usual, .types(passcodes[next]),
        ])
        var isChanged = true
        do {
            switch operation {
            case .change: try keychain.client.changePasscode(keychain.prompt())
            case .recover: try keychain.client.recover(keychain.prompt())
            }
        } catch {
            isChanged = false
        }
        strace.detach()
        let now = try openers(keychain, first: next)
        #expect(now.count == 1, "\(operation), \(failure): \(now)")
        if isChanged { #expect(now == [next], "\(operation), \(failure)") }
        keychain.stop(with: SIGTERM)
        try await keychain.start()
        let later = try openers(keychain, first: next)
        #expect(later == now, "\(operation), \(failure), in the next run")
        #expect(try keychain.value("kept") == "kept", "\(operation), \(failure)")
        return (isChanged, later.first ?? 1 - next)
    }

    /// The passcodes that open the keychain, of which the last one tried leaves it unlocked.
    private static func openers(_ keychain: PrivateKeychain, first: Int) throws -> [Int] {
        var opening: [Int] = []
        for candidate in [1 - first, first] {
            try keychain.client.lock()
            try keychain.tellPerson([.types(passcodes[candidate]), .cancels])
            if (try? keychain.unlock()) != nil { opening.append(candidate) }
            try keychain.tellPerson([])
        }
        if let last = opening.last, last != first {
            try keychain.tellPerson([.types(passcodes[last])])
            try keychain.unlock()
            try keychain.tellPerson([])
        }
        return opening
    }
}
