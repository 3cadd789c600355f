import Foundation
import KeychainClient
import KeychainModel
import Synchronization
import Testing
import TouchstoneTesting

/// The TPM loses power, or the daemon is killed, at each command of an operation in turn.
@Suite(
    "The TPM or the daemon stopped at any command",
    .serialized,
    .enabled(if: TPMMachine.isThere, "touchstoned or swtpm is missing"),
    .timeLimit(.minutes(20))
)
struct TPMInterruptionTests {
    enum Fate: CaseIterable {
        /// The TPM loses power before it receives the command.
        case chipBefore
        /// The TPM loses power after it executed the command.
        case chipAfter
        /// The daemon is killed while the TPM executes the command.
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

    /// A machine whose TPM has a high lockout limit, since power cuts count towards it.
    private func machine(software: Bool = false) async throws -> TPMMachine {
        let machine = try await TPMMachine()
        try await machine.chip.setGuessLimit(10_000)
        if software { try machine.keychain.use(tpm: nil) }
        try await machine.keychain.start()
        return machine
    }

    /// Repeats an operation, interrupting it one command later each time, and runs `check` after each recovery.
    ///
    /// Ends when the operation completes without interruption.
    ///
    /// - Returns: The number of interruptions.
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

    /// Which of two passcodes unlocks; throws if both do.
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

    @Test("an interrupted set-up leaves no keychain, or one that opens", arguments: Fate.allCases)
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
            // A fresh daemon without failures on record, so that there is no delay.
            try await keychain.stopped {}
            return true
        }
        #expect(count > 5)
        // The PIN index, the two counters and the mark; the leftovers of interrupted attempts are gone.
        #expect(try await machine.chip.indices().count == 4)
        try keychain.unlock()
        try keychain.add("free", "kept")
        try await keychain.stopped {}
        try keychain.unlock()
        #expect(try keychain.value("free") == "kept")
    }

    @Test(
        "an interrupted unlock fails with the TPM's error, and the passcode works afterwards",
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
        "an interrupted passcode change or recovery leaves one passcode that opens it: the old or the new",
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
        if isRecovery, fate != .daemon {
            // The recovery code opens without a chip too.
            #expect(changes == count)
        } else {
            #expect(changes < count)
        }
        // A new PIN index in place of the former one; the two counters and the mark stay.
        #expect(try await machine.chip.indices().count == 4)
    }

    @Test(
        "an interrupted replacement of the recovery code leaves the passcode and one code: the former or the new",
        arguments: Fate.allCases
    )
    func recoveryCode(fate: Fate) async throws {
        let machine = try await machine()
        let keychain = machine.keychain
        let file = keychain.home.appending("code")
        func shown() throws -> String { try String(contentsOfFile: file, encoding: .utf8) }
        func isRight(_ code: String) throws -> Bool {
            try keychain.tellPerson([.types(code), .cancels])
            let failure = keychain.failure { try keychain.client.checkRecoveryCode(keychain.prompt()) }
            try keychain.tellPerson([])
            return failure == nil
        }
        try keychain.client.setUp(keychain.prompt())
        try keychain.add("free", "kept")
        var present = try shown()
        let count = try await interrupt(machine, fate) {
            try keychain.client.changeRecoveryCode(keychain.prompt())
        } check: { failure in
            let later = try shown()
            try keychain.client.lock()
            try keychain.unlock()
            #expect(try keychain.value("free") == "kept")
            let isNew = try later != present && isRight(later)
            #expect(try isRight(present) != isNew, "\(String(describing: failure))")
            if failure == nil { #expect(isNew) }
            if isNew { present = later }
            try present.write(toFile: file, atomically: true, encoding: .utf8)
            #expect(try isRight(present))
            return true
        }
        #expect(count > 3)
        #expect(try await machine.chip.indices().count == 4)
    }

    @Test(
        "an interrupted migration leaves the keychain in software or on the TPM, with all its items",
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
        // The chip before it knows this keychain.
        let chip = try await machine.chip.copyState()
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
            // The chip knows this keychain now, and refuses a copy that says otherwise.
            try await keychain.stopped { try software.put(into: keychain) }
            #expect(keychain.refusal()?.cause == .olderKeybag)
            keychain.stop(with: SIGTERM)
            try await machine.chip.restoreState(chip)
            try software.put(into: keychain)
            try await keychain.start()
            try keychain.unlock()
            return true
        }
        #expect(count > 10)
        #expect(moves < count)
    }

    @Test("an interrupted deletion leaves the item deleted, and a store that opens", arguments: Fate.allCases)
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
