import Foundation
import KeychainClient
import KeychainModel
import Synchronization
import Testing
import TouchstoneTesting

/// The chip loses its power at the first command of an operation, then at its second, and so on to its last; or the
/// daemon is killed there.
@Suite(
    "A chip or a daemon that ends at any command,",
    .enabled(if: TPMMachine.isThere, "touchstoned or swtpm is missing"),
    .timeLimit(.minutes(20))
)
struct TPMInterruptionTests {
    enum Fate: CaseIterable {
        /// The chip's power goes before it sees the command.
        case chipBefore
        /// The chip's power goes once it has done the command.
        case chipAfter
        /// The daemon is killed while the chip does the command.
        case daemon

        func treatment(_ daemon: Int32) -> TPMRecorder.Treatment {
            switch self {
            case .chipBefore: return .powerOffBefore
            case .chipAfter: return .powerOffAfter
            case .daemon:
                kill(daemon, SIGKILL)
                return .pass
            }
        }
    }
    private static let other = "granite willow saffron meadow copper"

    /// A machine on which the chip's own limit on guesses, which power cuts use up, is out of the way.
    private func machine(software: Bool = false) async throws -> TPMMachine {
        let machine = try await TPMMachine()
        try await machine.chip.setGuessLimit(10_000)
        if software { try machine.keychain.use(tpm: nil) }
        try await machine.keychain.start()
        return machine
    }

    /// Runs an operation again and again, each time with the power going one command later, and `check` once it is
    /// back; ends when the operation was through before.
    ///
    /// - Returns: how often the power went.
    @discardableResult
    private func interrupt(
        _ machine: TPMMachine,
        _ fate: Fate,
        _ operation: () throws -> Void,
        check: (KeychainError?) async throws -> Bool
    ) async throws -> Int {
        for number in 1...200 {
            let left = Mutex(number)
            let daemon = machine.keychain.processID
            machine.recorder.treat { _ in
                left.withLock { left in
                    left -= 1
                    return left == 0 ? fate.treatment(daemon) : .pass
                }
            }
            try machine.keychain.tellPerson([])
            let failure = machine.keychain.failure(operation)
            machine.recorder.treat { _ in .pass }
            guard left.withLock({ $0 <= 0 }) else {
                #expect(failure == nil)
                return number - 1
            }
            if fate == .daemon {
                machine.keychain.stop(with: SIGKILL)
                try await machine.keychain.start()
            } else {
                try await machine.chip.powerCut()
            }
            guard try await check(failure) else { return number }
        }
        throw Surprise("an operation without end")
    }

    /// Which of two passcodes unlocks; the other one does not.
    private func opener(_ keychain: PrivateKeychain, _ passcodes: [String]) throws -> String {
        func needsBoth(_ first: String, _ second: String) throws -> Bool {
            try keychain.client.lock()
            try keychain.tellPerson([.types(first), .types(second)])
            let before = keychain.prompts
            try keychain.unlock()
            try keychain.tellPerson([])
            return keychain.prompts == before + 2
        }
        if try needsBoth(passcodes[0], passcodes[1]) { return passcodes[1] }
        guard try needsBoth(passcodes[1], passcodes[0]) else { throw Surprise("both open") }
        return passcodes[0]
    }

    @Test("in set-up leaves no keychain, or one that opens", arguments: Fate.allCases)
    func setUp(fate: Fate) async throws {
        let machine = try await machine()
        let keychain = machine.keychain
        let count = try await interrupt(machine, fate) {
            try keychain.client.setUp(keychain.prompt())
        } check: { failure in
            let state = try keychain.client.status().keybag
            guard fate != .daemon else { return state == .notSetUp }
            #expect((failure == nil) == (state == .unlocked), "\(state), \(String(describing: failure))")
            if failure == nil { return false }
            #expect(failure?.cause?.domain == "tpm", "\(String(describing: failure))")
            #expect(state == .notSetUp)
            // A daemon that never saw a failure, so that it does not make the person wait.
            try await keychain.stopped {}
            return true
        }
        #expect(count > 5)
        // The PIN index and the two counters; what the tries before left behind is gone.
        #expect(try await machine.chip.indices().count == 3)
        try keychain.unlock()
        try keychain.add("free", "kept")
        try await keychain.stopped {}
        try keychain.unlock()
        #expect(try keychain.value("free") == "kept")
    }

    @Test(
        "in unlocking is the chip's failure, and the passcode opens it afterwards",
        arguments: Fate.allCases
    )
    func unlock(fate: Fate) async throws {
        let machine = try await machine()
        let keychain = machine.keychain
        try keychain.client.setUp(keychain.prompt())
        try keychain.add("free", "kept")
        let count = try await interrupt(machine, fate) {
            try keychain.client.lock()
            try keychain.unlock()
        } check: { failure in
            if let failure, fate != .daemon { #expect(failure.cause?.domain == "tpm") }
            try keychain.unlock()
            #expect(try keychain.value("free") == "kept")
            #expect(try keychain.client.status().authentication.passcodeFailures == 0)
            return true
        }
        #expect(count > 3)
    }

    @Test(
        "in a change of passcode, or a recovery, leaves one passcode that opens it: the old or the new",
        arguments: Fate.allCases,
        [false, true]
    )
    func passcode(fate: Fate, isRecovery: Bool) async throws {
        let machine = try await machine()
        let keychain = machine.keychain
        try keychain.client.setUp(keychain.prompt())
        try keychain.add("free", "kept")
        var present = PrivateKeychain.passcode
        var changes = 0
        let count = try await interrupt(machine, fate) {
            let next = present == Self.other ? PrivateKeychain.passcode : Self.other
            try keychain.tellPerson([isRecovery ? .usual : .types(present), .types(next)])
            if isRecovery {
                try keychain.client.recover(keychain.prompt())
            } else {
                try keychain.client.changePasscode(keychain.prompt())
            }
        } check: { failure in
            let former = present
            present = try opener(keychain, [PrivateKeychain.passcode, Self.other])
            if failure == nil { #expect(present != former) }
            if present != former { changes += 1 }
            #expect(try keychain.value("free") == "kept")
            return true
        }
        #expect(count > 10)
        #expect(changes < count)
        #expect(try await machine.chip.indices().count == 3)
    }

    @Test(
        "in a migration leaves the keychain in software or on the chip, with all that it holds",
        arguments: Fate.allCases
    )
    func migration(fate: Fate) async throws {
        let machine = try await machine(software: true)
        let keychain = machine.keychain
        try keychain.client.setUp(keychain.prompt())
        try keychain.add("free", "kept")
        try keychain.add("guarded", "kept too", .devicePasscode)
        keychain.stop(with: SIGTERM)
        let software = try DataCopy(of: keychain)
        try keychain.use(tpm: machine.recorder.tcti)
        try await keychain.start()
        try keychain.unlock()
        var moves = 0
        let count = try await interrupt(machine, fate) {
            try keychain.client.migrate(keychain.prompt())
        } check: { failure in
            try keychain.client.lock()
            try keychain.unlock()
            #expect(try keychain.value("free") == "kept")
            #expect(try keychain.value("guarded") == "kept too")
            let reasons = try keychain.client.status().assuranceReasons
            let isSoftware = reasons.contains { $0.contains("touchstone migrate") }
            guard !isSoftware else {
                #expect(failure != nil)
                return true
            }
            moves += 1
            try await keychain.stopped {}
            try keychain.unlock()
            #expect(try keychain.value("guarded") == "kept too")
            try await keychain.stopped { try software.put(into: keychain) }
            try keychain.unlock()
            return true
        }
        #expect(count > 10)
        #expect(moves < count)
    }

    @Test("in a deletion leaves what was deleted deleted, and a store that opens", arguments: Fate.allCases)
    func deletion(fate: Fate) async throws {
        let machine = try await machine()
        let keychain = machine.keychain
        try keychain.client.setUp(keychain.prompt())
        var number = 0
        try keychain.add("0", "there", .devicePasscode)
        try await interrupt(machine, fate) {
            try keychain.delete("\(number)")
        } check: { failure in
            #expect(failure == nil || fate == .daemon)
            try await keychain.stopped {}
            try keychain.unlock()
            #expect(keychain.failure { _ = try keychain.value("\(number)") }?.status == .itemNotFound)
            number += 1
            try keychain.add("\(number)", "there", .devicePasscode)
            return true
        }
        #expect(number > 0)
    }
}
