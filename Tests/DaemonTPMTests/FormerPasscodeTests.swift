import Foundation
import KeychainClient
import KeychainModel
import Synchronization
import Testing
import TouchstoneTesting

/// After a new passcode the former one opens nothing, not even former files, whatever interrupted the change.
@Suite(
    "A former passcode",
    .serialized,
    .enabled(if: TPMMachine.isThere, "touchstoned or swtpm is missing"),
    .timeLimit(.minutes(40))
)
struct FormerPasscodeTests {
    enum Operation: CaseIterable, Sendable {
        case change, recover
        /// Back to the TPM after a recovery without it.
        case migrate
    }

    enum Fate: CaseIterable, Sendable {
        /// The TPM loses power before it receives the command, and comes back with the next run.
        case chipBefore
        /// The TPM loses power after it executed the command.
        case chipAfter
        /// The daemon is killed while the TPM executes the command.
        case daemon
        /// The TPM gets no further command until the operation has ended, which may be acknowledged.
        case chipAway
    }

    private static let passcodes = [PrivateKeychain.passcode, "granite willow saffron meadow copper"]

    /// Every so many commands; in the normal run each fate begins at another one.
    private static let step = CaseSize.of(13, full: 1)

    @Test(
        "it opens no former files beside today's items, with the notes or without",
        arguments: Operation.allCases,
        Fate.allCases
    )
    func former(_ operation: Operation, _ fate: Fate) async throws {
        let machine = try await TPMMachine()
        let keychain = machine.keychain
        try await machine.chip.setGuessLimit(10_000)
        try await keychain.start()
        try keychain.client.setUp(keychain.prompt())
        try keychain.add("free", "kept")
        var present = 0
        var openings = 0
        var tried = 0
        let first = 1 + (Fate.allCases.firstIndex(of: fate) ?? 0) * 3 % Self.step
        for number in stride(from: first, to: 300, by: Self.step) {
            keychain.stop(with: SIGTERM)
            let former = try FormerKeybag(of: keychain)
            let formerPasscode = present
            try await keychain.start()
            if operation == .migrate {
                // Leaves the seal of the former passcode in the TPM.
                machine.chip.powerOff()
                present = 1 - present
                try recover(keychain, to: present)
                keychain.stop(with: SIGKILL)
                try await machine.chip.powerOn()
                try await keychain.start()
            }
            let wasInterrupted = try await interrupt(machine, fate, at: number) {
                try run(operation, keychain, from: present)
            }
            if let opener = try opener(keychain, [present, 1 - present]) { present = opener }
            #expect(try keychain.value("free") == "kept", "\(number)")
            try await Deadline.wait(for: "the former seal's removal") {
                let reasons = try keychain.client.status().assuranceReasons
                return reasons.contains { $0.contains("has not yet removed") } ? nil : true
            }
            if present != formerPasscode {
                for withoutNotes in [false, true] {
                    tried += 1
                    let isOpen = try await former.opens(
                        keychain,
                        with: Self.passcodes[formerPasscode],
                        withoutNotes: withoutNotes
                    )
                    if isOpen { openings += 1 }
                    #expect(!isOpen, "\(operation), \(fate) at \(number), without notes: \(withoutNotes)")
                }
                // The present passcode still opens the present files.
                #expect(try opener(keychain, [present]) == present)
            }
            guard wasInterrupted else { break }
            if operation == .migrate { try migrateBack(keychain, present) }
        }
        #expect(openings == 0)
        #expect(tried > 0)
        #expect(try await machine.chip.indices().count <= 4)
    }

    private func run(_ operation: Operation, _ keychain: PrivateKeychain, from present: Int) throws {
        switch operation {
        case .change:
            try keychain.tellPerson([.types(Self.passcodes[present]), .types(Self.passcodes[1 - present])])
            try keychain.client.changePasscode(keychain.prompt())
        case .recover: try recover(keychain, to: 1 - present)
        case .migrate:
            try keychain.tellPerson([.types(Self.passcodes[present])])
            try keychain.client.migrate(keychain.prompt())
        }
    }

    private func recover(_ keychain: PrivateKeychain, to passcode: Int) throws {
        try keychain.tellPerson([.usual, .types(Self.passcodes[passcode])])
        try keychain.client.recover(keychain.prompt())
    }

    private func migrateBack(_ keychain: PrivateKeychain, _ present: Int) throws {
        let reasons = try keychain.client.status().assuranceReasons
        guard reasons.contains(where: { $0.contains("touchstone migrate") }) else { return }
        try run(.migrate, keychain, from: present)
    }

    /// Runs an operation that ends in an interruption at one of its commands; afterwards TPM and daemon work again.
    ///
    /// - Returns: whether the operation had that many commands.
    private func interrupt(
        _ machine: TPMMachine,
        _ fate: Fate,
        at number: Int,
        _ operation: () throws -> Void
    ) async throws -> Bool {
        let count = Mutex(0)
        let daemon = machine.keychain.processID
        machine.recorder.treat { _ in
            let place = count.withLock { count in
                count += 1
                return count
            }
            if fate == .chipAway, place >= number { return .loseCommand }
            guard place == number else { return .pass }
            switch fate {
            case .chipBefore: return .powerOffBefore
            case .chipAfter: return .powerOffAfter
            case .daemon:
                kill(daemon, SIGKILL)
                return .pass
            case .chipAway: return .loseCommand
            }
        }
        try? operation()
        machine.recorder.treat { _ in .pass }
        try machine.keychain.tellPerson([])
        let wasInterrupted = count.withLock { $0 >= number }
        switch fate {
        case .chipBefore, .chipAfter: try await machine.chip.powerCut()
        case .daemon where wasInterrupted:
            machine.keychain.stop(with: SIGKILL)
            try await machine.keychain.start()
        case .daemon, .chipAway: break
        }
        return wasInterrupted
    }

    /// The first of these passcodes that opens the keychain; nil if none does.
    private func opener(_ keychain: PrivateKeychain, _ candidates: [Int]) throws -> Int? {
        for candidate in candidates {
            try? keychain.client.lock()
            try keychain.tellPerson([.types(Self.passcodes[candidate]), .cancels])
            let isOpen = (try? keychain.unlock()) != nil
            try keychain.tellPerson([])
            if isOpen { return candidate }
        }
        Issue.record("no passcode opens the keychain")
        return nil
    }
}
