import Foundation
import KeychainClient
import KeychainModel
import SecretMemory
import Testing
import TouchstoneTesting

@Suite(
    "Keychains with another TPM, an older state, or no TPM",
    .enabled(if: TPMMachine.isThere, "touchstoned or swtpm is missing"),
    .timeLimit(.minutes(20))
)
struct TPMForeignTests {
    /// A machine whose keychain has deleted an item protected by the passcode, and a copy from before.
    private static func machineThatForgot(
        _ copy: (PrivateKeychain) throws -> DataCopy
    ) async throws -> (TPMMachine, older: DataCopy) {
        let machine = try await TPMMachine.ready()
        let keychain = machine.keychain
        try keychain.add("deleted", "should be gone", .devicePasscode)
        keychain.stop(with: SIGTERM)
        let older = try copy(keychain)
        try await keychain.start()
        try keychain.unlock()
        try keychain.delete("deleted")
        return (machine, older)
    }

    @Test("an older copy of the store is refused as rolled back, and accepted with the recovery code")
    func olderStore() async throws {
        let (machine, older) = try await Self.machineThatForgot(DataCopy.store(of:))
        let keychain = machine.keychain

        try await keychain.stopped { try older.put(into: keychain) }
        try keychain.unlock()
        let refusal = try #require(keychain.failure { _ = try keychain.value("deleted") })
        #expect(refusal.status == .decode)
        #expect(refusal.cause == .rolledBack)
        #expect(keychain.failure { try keychain.add("new", "no") }?.cause == .rolledBack)

        try keychain.client.recover(keychain.prompt())
        #expect(try keychain.value("deleted") == "should be gone")
        try keychain.add("new", "yes")
        try await keychain.stopped {}
        try keychain.unlock()
        #expect(try keychain.value("new") == "yes")
    }

    @Test("no older copy of the store brings a deleted key back, and an accepted one does as it says")
    func deletedKey() async throws {
        let machine = try await TPMMachine.ready()
        let keychain = machine.keychain
        let control = AccessControl(accessibility: .whenUnlocked)
        let key = try keychain.client.makeKey(MakeKey(accessControl: control, prompt: keychain.prompt()))
        #expect(key.isHardware)
        let attributes: ItemAttributes = [.account: .string("key")]
        _ = try keychain.client.add(
            AddItem(
                itemClass: .genericPassword,
                attributes: attributes.merging([.namedKeys: .keys([key.representation])]) { $1 },
                accessControl: control,
                data: nil,
                context: nil,
                prompt: keychain.prompt()
            )
        )
        func sign() -> KeychainError? {
            keychain.failure {
                let use = KeyUse.sign(digest: [UInt8](repeating: 9, count: 32))
                let request = UseKey(
                    representation: key.representation,
                    use: use,
                    prompt: keychain.prompt()
                )
                _ = try keychain.client.useKey(request)
            }
        }
        #expect(sign() == nil)
        var older: DataCopy?
        try await keychain.stopped { older = try DataCopy.store(of: keychain) }
        try keychain.unlock()
        let query = ItemQuery(itemClass: .genericPassword, attributes: attributes)
        let deleted = try keychain.client.delete(DeleteItems(query: query, prompt: keychain.prompt()))
        #expect(deleted.count == 1 && deleted.isCounted)
        #expect(sign()?.cause == .deleted)
        try await keychain.stopped { try older?.put(into: keychain) }
        try keychain.unlock()
        #expect(sign()?.cause == .rolledBack)
        // The recovery code accepts the older copy, in which the key was not deleted yet.
        try keychain.client.recover(keychain.prompt())
        #expect(sign() == nil)
    }

    @Test("no older copy of the store gives back a use of a key that may be used only so often")
    func usedKey() async throws {
        let machine = try await TPMMachine.ready()
        let keychain = machine.keychain
        let request = MakeKey(
            accessControl: AccessControl(accessibility: .whenUnlocked),
            limits: try KeyLimits(uses: 2),
            prompt: keychain.prompt()
        )
        let key = try keychain.client.makeKey(request)
        #expect(key.isHardware && key.usesLeft == 2)
        func sign() -> KeychainError? {
            keychain.failure {
                let use = KeyUse.sign(digest: [UInt8](repeating: 9, count: 32))
                _ = try keychain.client.useKey(
                    UseKey(representation: key.representation, use: use, prompt: keychain.prompt())
                )
            }
        }
        var copies: [DataCopy] = []
        for _ in 0..<2 {
            try await keychain.stopped { copies.append(try DataCopy.store(of: keychain)) }
            try keychain.unlock()
            #expect(sign() == nil)
        }
        #expect(sign()?.cause == .usedUp)
        for copy in copies {
            try await keychain.stopped { try copy.put(into: keychain) }
            try keychain.unlock()
            #expect(sign()?.cause == .rolledBack)
        }
    }

    @Test("no older copy of the store brings the number of a counted signature back")
    func countedKey() async throws {
        let machine = try await TPMMachine.ready()
        let keychain = machine.keychain
        let key = try keychain.client.makeKey(
            MakeKey(
                accessControl: AccessControl(accessibility: .whenUnlocked),
                limits: try KeyLimits(isCounted: true),
                prompt: keychain.prompt()
            )
        )
        #expect(key.isHardware && key.isCounted)
        func number() throws -> [UInt8] {
            let use = KeyUse.signCounted(before: [1], after: [2])
            let request = UseKey(representation: key.representation, use: use, prompt: keychain.prompt())
            return try keychain.client.useKey(request).withOctets { octets in (0..<4).map { octets[$0] } }
        }
        var copies: [DataCopy] = []
        for count: UInt8 in 1...2 {
            try await keychain.stopped { copies.append(try DataCopy.store(of: keychain)) }
            try keychain.unlock()
            #expect(try number() == [0, 0, 0, count])
        }
        for copy in copies {
            try await keychain.stopped { try copy.put(into: keychain) }
            try keychain.unlock()
            #expect(keychain.failure { _ = try number() }?.cause == .rolledBack)
        }
    }

    @Test("an older copy of all files is refused as rolled back")
    func olderEverything() async throws {
        let (machine, older) = try await Self.machineThatForgot { try DataCopy(of: $0) }
        let keychain = machine.keychain
        try await keychain.stopped { try older.put(into: keychain) }
        try keychain.unlock()
        #expect(keychain.failure { _ = try keychain.value("deleted") }?.cause == .rolledBack)
    }

    @Test("a damaged store is reported as damaged, on any TPM")
    func damage() async throws {
        let machine = try await TPMMachine.ready()
        let keychain = machine.keychain
        try keychain.add("free", "kept")
        try await keychain.stopped {
            for suffix in ["-wal", "-shm"] {
                try? FileManager.default.removeItem(atPath: keychain.file("items.sqlite\(suffix)"))
            }
            try Data(repeating: 0x5A, count: 8192)
                .write(to: URL(fileURLWithPath: keychain.file("items.sqlite")))
        }
        _ = keychain.refusal()
        let refusal = try #require(keychain.failure { _ = try keychain.value("free") })
        #expect(refusal.status == .decode)
        #expect(refusal.cause == .damaged)
    }

    @Test("another TPM refuses the keychain without counting a guess; the recovery code moves it there")
    func otherChip() async throws {
        let machine = try await TPMMachine.ready()
        let keychain = machine.keychain
        try keychain.add("free", "kept")
        let other = try await SoftwareTPM.start()
        try await keychain.stopped { try keychain.use(tpm: other.tcti) }
        try await Self.expectRefused(keychain)

        try keychain.client.recover(keychain.prompt())
        #expect(try keychain.value("free") == "kept")
        try await keychain.stopped {}
        try keychain.unlock()
        #expect(try keychain.value("free") == "kept")
        // It is on that TPM now, and no longer on this one.
        try await keychain.stopped { try keychain.use(tpm: machine.recorder.tcti) }
        try await Self.expectRefused(keychain)
    }

    @Test("a cleared TPM counts as another one")
    func clearedChip() async throws {
        let machine = try await TPMMachine.ready()
        let keychain = machine.keychain
        try keychain.add("free", "kept")
        keychain.stop(with: SIGTERM)
        try await machine.chip.clear()
        try await keychain.start()
        try await Self.expectRefused(keychain)
        try keychain.client.recover(keychain.prompt())
        #expect(try keychain.value("free") == "kept")
    }

    @Test("removing the store's counter does not make an older copy acceptable")
    func removedCounters() async throws {
        let (machine, older) = try await Self.machineThatForgot { try DataCopy(of: $0) }
        let keychain = machine.keychain
        keychain.stop(with: SIGTERM)
        try older.put(into: keychain)
        try await machine.chip.removeCounters()
        try await keychain.start()
        let refusal = try #require(keychain.refusal())
        #expect(refusal.cause == .otherHardware)
        #expect(refusal.remedy == .recover)
        #expect(try keychain.client.status().keybag == .locked)
        try keychain.client.recover(keychain.prompt())
        #expect(try keychain.value("deleted") == "should be gone")
        try await keychain.stopped {}
        try keychain.unlock()
        #expect(try keychain.value("deleted") == "should be gone")
    }

    @Test("without the TPM unlocking says so and counts nothing; it works again once the TPM is back")
    func noChip() async throws {
        let machine = try await TPMMachine.ready()
        let keychain = machine.keychain
        try keychain.add("free", "kept")
        try await keychain.stopped { try keychain.use(tpm: nil) }
        let refusal = try #require(keychain.refusal())
        #expect(refusal.cause == .missingHardware)
        #expect(try keychain.client.status().authentication.passcodeFailures == 0)
        let reasons = try keychain.client.status().assuranceReasons
        #expect(reasons.contains { $0.contains("not there") }, "\(reasons)")

        try await keychain.stopped { try keychain.use(tpm: machine.recorder.tcti) }
        machine.chip.powerOff()
        let silence = try #require(keychain.refusal())
        #expect(silence.cause?.domain == "tpm")
        #expect(silence.remedy == .check)
        try await machine.chip.powerOn()
        try keychain.unlock()
        #expect(try keychain.value("free") == "kept")
    }

    @Test("without the TPM the recovery code turns it into a software keychain, with all items")
    func noChipForGood() async throws {
        let machine = try await TPMMachine.ready()
        let keychain = machine.keychain
        try keychain.add("free", "kept")
        try await keychain.stopped { try keychain.use(tpm: nil) }
        #expect(keychain.refusal()?.cause == .missingHardware)
        try keychain.client.recover(keychain.prompt())
        #expect(try keychain.value("free") == "kept")
        try await keychain.stopped {}
        try keychain.unlock()
        #expect(try keychain.value("free") == "kept")
    }

    @Test("a TPM in lockout reports the remaining time")
    func lockedOutChip() async throws {
        let machine = try await TPMMachine.ready()
        let keychain = machine.keychain
        try keychain.add("free", "kept")
        keychain.stop(with: SIGTERM)
        // A power cut after a use counts as a wrong guess, whichever user of the TPM made it.
        try await machine.chip.setGuessLimit(1, interval: 900)
        try await keychain.start()
        try keychain.unlock()
        try await machine.chip.powerCut()
        try keychain.client.lock()
        let refusal = try #require(keychain.refusal())
        #expect(refusal.cause == DriverCause(domain: "tpm", code: "lockout"))
        #expect(refusal.remedy == .wait(seconds: 900))
        let reasons = try keychain.client.status().assuranceReasons
        #expect(reasons.contains { $0.contains("refuses all guesses now") }, "\(reasons)")
        try await machine.chip.setGuessLimit(32)
        try keychain.unlock()
        #expect(try keychain.value("free") == "kept")
    }

    @Test("a software keychain moves to the TPM with all its items, and stays there")
    func migration() async throws {
        let machine = try await TPMMachine()
        let keychain = machine.keychain
        try keychain.use(tpm: nil)
        try await keychain.start()
        try keychain.client.setUp(keychain.prompt())
        try keychain.add("free", "kept")
        try keychain.add("guarded", "kept too", .devicePasscode)
        #expect(keychain.failure { try keychain.client.migrate(keychain.prompt()) }?.status == .param)

        try await keychain.stopped { try keychain.use(tpm: machine.recorder.tcti) }
        try keychain.unlock()
        let hint = try keychain.client.status().assuranceReasons
        #expect(hint.contains { $0.contains("touchstone migrate") }, "\(hint)")
        try keychain.client.migrate(keychain.prompt())
        #expect(try keychain.value("free") == "kept")
        #expect(keychain.failure { try keychain.client.migrate(keychain.prompt()) }?.status == .param)

        try await machine.restart()
        try keychain.unlock()
        #expect(try keychain.value("free") == "kept")
        #expect(try keychain.value("guarded") == "kept too")
        try await keychain.stopped { try keychain.use(tpm: nil) }
        #expect(keychain.refusal() != nil)
    }

    @Test("a passcode change moves a software keychain to the TPM, too")
    func movedByPasscode() async throws {
        let machine = try await TPMMachine()
        let keychain = machine.keychain
        try keychain.use(tpm: nil)
        try await keychain.start()
        try keychain.client.setUp(keychain.prompt())
        try keychain.add("free", "kept")
        try await keychain.stopped { try keychain.use(tpm: machine.recorder.tcti) }
        try keychain.client.changePasscode(keychain.prompt())
        try await machine.restart()
        try keychain.unlock()
        #expect(try keychain.value("free") == "kept")
        let reasons = try keychain.client.status().assuranceReasons
        #expect(!reasons.contains { $0.contains("touchstone migrate") }, "\(reasons)")
    }

    @Test("touchstone reports which TPM is missing, with its own exit status, and doctor the remedy")
    func commands() async throws {
        let machine = try await TPMMachine.ready()
        let keychain = machine.keychain
        let environment = ["TOUCHSTONE_HOME": keychain.home.path, "PATH": "/usr/bin:/bin"]
        let doctor = try await Finished.running([Programs.touchstone, "doctor"], environment: environment)
        #expect(doctor.output.contains("device key: test"), "\(doctor.output)")
        #expect(doctor.output.contains("The TPM is a simulator"))
        let other = try await SoftwareTPM.start()
        try await keychain.stopped { try keychain.use(tpm: other.tcti) }
        let unlock = try await keychain.touchstone("unlock")
        #expect(unlock.status == 7, "\(unlock.output)")
        #expect(unlock.output.contains("sealed to another TPM"))
        #expect(unlock.output.contains("touchstone recover"))
    }

    @Test("with an owner authorisation set, set-up and unlocking report it and the remedy")
    func ownerAuthorization() async throws {
        let machine = try await TPMMachine()
        let keychain = machine.keychain
        try await machine.chip.setOwnerAuthorization([1, 2, 3])
        try await keychain.start()
        let refusal = try #require(keychain.failure { try keychain.client.setUp(keychain.prompt()) })
        #expect(refusal.cause == .ownerAuthorizationSet)
        #expect(refusal.remedy == .check)
        let setUp = try await keychain.touchstone("setup")
        #expect(setUp.status == 7, "\(setUp.output)")
        #expect(setUp.output.contains("owner authorization is set"))
        #expect(setUp.output.contains("tpm2_changeauth -c owner"))
        let reasons = try keychain.client.status().assuranceReasons
        #expect(reasons.contains { $0.contains("owner authorization is set") }, "\(reasons)")

        // The one who set it may be unknown: without the TPM it works, with a lower assurance.
        try await keychain.stopped { try keychain.use(tpm: nil) }
        try keychain.client.setUp(keychain.prompt())
        try keychain.add("free", "kept")
        #expect(try keychain.value("free") == "kept")
    }

    @Test("with an owner authorisation set later, unlocking reports it and counts nothing")
    func laterOwnerAuthorization() async throws {
        let machine = try await TPMMachine.ready()
        let keychain = machine.keychain
        try keychain.add("free", "kept")
        try await machine.chip.setOwnerAuthorization([1, 2, 3])
        try await keychain.stopped {}
        let refusal = try #require(keychain.refusal())
        #expect(refusal.cause == .ownerAuthorizationSet)
        #expect(try keychain.client.status().authentication.passcodeFailures == 0)
        try await machine.chip.setOwnerAuthorization([], from: [1, 2, 3])
        try keychain.unlock()
        #expect(try keychain.value("free") == "kept")
    }

    private static func expectRefused(_ keychain: PrivateKeychain) async throws {
        let refusal = try #require(keychain.refusal())
        #expect(refusal.cause == .otherHardware)
        #expect(refusal.remedy == .recover)
        let status = try keychain.client.status()
        #expect(status.keybag == .locked)
        #expect(status.authentication.passcodeFailures == 0)
    }
}
