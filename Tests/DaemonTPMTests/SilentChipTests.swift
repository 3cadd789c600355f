import Foundation
import Glibc
import KeychainClient
import KeychainModel
import Synchronization
import Testing
import TouchstoneTesting

/// The TPM does not answer while the keychain needs it for more than a guess.
@Suite(
    "A TPM that does not answer",
    .serialized,
    .enabled(if: TPMMachine.isThere, "touchstoned or swtpm is missing"),
    .timeLimit(.minutes(20))
)
struct SilentChipTests {
    /// How the TPM does not answer.
    enum Absence: CaseIterable, Sendable {
        /// It is gone.
        case dead
        /// Its self-test failed: each response is `TPM_RC_FAILURE`.
        case failed
        /// It no longer responds (SIGSTOP), which takes ten seconds to find out.
        case silent

        static let tested = CaseSize.of([dead, failed], full: allCases)

        func begin(_ machine: TPMMachine) {
            switch self {
            case .dead: machine.chip.powerOff()
            case .failed: machine.recorder.treat { _ in .answer(0x101) }
            case .silent: machine.chip.setSilent(true)
            }
        }

        func end(_ machine: TPMMachine) async throws {
            machine.recorder.treat { _ in .pass }
            switch self {
            case .dead: try await machine.chip.powerOn()
            case .failed: break
            case .silent: machine.chip.setSilent(false)
            }
        }
    }

    private static let other = "granite willow saffron meadow copper"

    private static func reasons(_ keychain: PrivateKeychain) throws -> String {
        try keychain.client.status().assuranceReasons.joined(separator: " ")
    }

    // Catches a deletion that is acknowledged although an older copy of the store would undo it.
    @Test(
        "a protected deletion is told as not yet counted, and counted by the daemon itself afterwards",
        arguments: Absence.tested
    )
    func deletion(_ absence: Absence) async throws {
        let machine = try await TPMMachine.ready()
        let keychain = machine.keychain
        try keychain.add("one", "kept", .devicePasscode)
        try keychain.add("two", "kept", .devicePasscode)
        let older = try DataCopy.store(of: keychain)
        absence.begin(machine)
        let deleted = try keychain.client.delete(
            DeleteItems(query: PrivateKeychain.query(for: "one"), prompt: keychain.prompt())
        )
        #expect(deleted == DeletedItems(count: 1, isCounted: false))
        #expect(try Self.reasons(keychain).contains("has not yet counted"))
        try await keychain.expectLogged("generationUncounted")
        try await absence.end(machine)
        try await keychain.expectLogged("generationCounted")
        #expect(try !Self.reasons(keychain).contains("has not yet counted"))
        // It counts: the older copy, in which the item still is, is refused.
        try await keychain.stopped { try older.put(into: keychain) }
        #expect(keychain.failure { _ = try keychain.value("one") }?.cause == .rolledBack)
    }

    /// What follows a count whose answer was lost.
    enum Sequel: CaseIterable, Sendable { case none, deletion, lock, restart, kill }

    // Catches a count that is made twice, after which the store itself would be refused as an older copy.
    @Test(
        "a deletion that the TPM counted without an answer is not counted twice",
        arguments: Sequel.allCases
    )
    func lostAnswer(_ sequel: Sequel) async throws {
        let machine = try await TPMMachine.ready()
        let keychain = machine.keychain
        for name in ["one", "two", "three"] { try keychain.add(name, "kept", .devicePasscode) }
        // From TPM2_NV_Increment on nothing comes back.
        let isLost = Mutex(false)
        machine.recorder.treat { command in
            isLost.withLock { isLost in
                defer { isLost = isLost || command.code == 0x134 }
                return isLost ? .loseCommand : command.code == 0x134 ? .loseAnswer : .pass
            }
        }
        let deleted = try keychain.client.delete(
            DeleteItems(query: PrivateKeychain.query(for: "one"), prompt: keychain.prompt())
        )
        #expect(deleted == DeletedItems(count: 1, isCounted: false))
        machine.recorder.treat { _ in .pass }
        switch sequel {
        case .none: try await keychain.expectLogged("generationCounted")
        case .deletion:
            try keychain.delete("two")
            try await keychain.expectLogged("generationCounted")
        case .lock:
            try keychain.client.lock()
            try keychain.unlock()
            // The TPM had counted it: told without another change.
            try await keychain.expectLogged("generationCounted")
        case .restart: try await keychain.stopped {}
        case .kill:
            keychain.stop(with: SIGKILL)
            try await keychain.start()
        }
        try keychain.unlock()
        #expect(try !Self.reasons(keychain).contains("has not yet counted"))
        try keychain.delete("three")
        #expect(try !Self.reasons(keychain).contains("has not yet counted"))
        try await keychain.stopped {}
        try keychain.unlock()
        #expect(keychain.failure { _ = try keychain.value("one") }?.status == .itemNotFound)
        #expect(keychain.failure { _ = try keychain.value("three") }?.status == .itemNotFound)
    }

    @Test("touchstone delete says that a deletion is not yet counted, and doctor and status say it too")
    func command() async throws {
        let machine = try await TPMMachine.ready()
        let keychain = machine.keychain
        let set = try await keychain.command("set one --require passcode", input: "first")
        #expect(set.status == 0, "\(set)")
        machine.chip.powerOff()
        let deleted = try await keychain.command("delete one --yes")
        #expect(deleted.status == 0 && deleted.output.contains("deleted, not yet counted"), "\(deleted)")
        for command in ["status", "doctor"] {
            let told = try await keychain.command(command)
            #expect(told.output.contains("not yet counted"), "\(told)")
            #expect(!told.output.contains("0xa000a"), "\(told)")
        }
        try await machine.chip.powerOn()
        try await keychain.expectLogged("generationCounted")
        #expect(try await !keychain.command("status").output.contains("not yet counted"))
    }

    // Catches a recovery code that a broken chip makes worthless, and a former passcode that the chip then still opens for.
    @Test(
        "the recovery code opens the keychain without the TPM, which is told, and the former passcode opens nothing later",
        arguments: Absence.tested,
        [false, true]
    )
    func recovery(_ absence: Absence, areNotesRemoved: Bool) async throws {
        let machine = try await TPMMachine.ready()
        let keychain = machine.keychain
        try keychain.add("free", "kept")
        try keychain.add("guarded", "kept too", .devicePasscode)
        keychain.stop(with: SIGTERM)
        let former = try FormerKeybag(of: keychain)
        try await keychain.start()
        absence.begin(machine)
        let refusal = keychain.refusal()
        #expect(refusal?.cause?.known == .silentHardware, "\(String(describing: refusal))")
        let command = try await keychain.command("unlock")
        #expect(command.output.contains("the TPM does not answer"), "\(command)")
        #expect(command.output.contains("touchstone recover"), "\(command)")
        #expect(!command.output.contains("0x"), "\(command)")
        try keychain.tellPerson([.usual, .types(Self.other)])
        try keychain.client.recover(keychain.prompt())
        try await keychain.expectLogged("assuranceLowered")
        #expect(try keychain.value("free") == "kept")
        try keychain.tellPerson([.types(Self.other)])
        #expect(try keychain.value("guarded") == "kept too")
        #expect(try keychain.client.status().assurance < .tpm)
        #expect(try Self.reasons(keychain).contains("has not yet removed"))
        // Also in the next run, and without the chip.
        try await keychain.stopped { if areNotesRemoved { try keychain.removeNotes() } }
        try keychain.tellPerson([.types(Self.other)])
        try keychain.unlock()
        #expect(try keychain.value("free") == "kept")
        let kept = keychain.log.components(separatedBy: "formerSealRemoved").count
        try await absence.end(machine)
        try await keychain.expectLogged("formerSealRemoved", count: kept)
        #expect(try !Self.reasons(keychain).contains("has not yet removed"))
        #expect(try await !former.opens(keychain, with: PrivateKeychain.passcode))
        // And back to the chip.
        try await keychain.stopped {}
        try keychain.tellPerson([.types(Self.other)])
        try keychain.client.migrate(keychain.prompt())
        #expect(try Self.reasons(keychain).contains("touchstone migrate") == false)
        #expect(try keychain.value("free") == "kept")
    }
}
