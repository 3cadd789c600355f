import Foundation
import Glibc
import KeychainClient
import KeychainModel
import SecretMemory
import Synchronization
import Testing
import TouchstoneTesting

/// Looks for keys in all that root can read of the daemon's memory.
@Suite(
    "Keys in the daemon's memory",
    .serialized,
    .enabled(if: geteuid() == 0, "needs root to read the daemon's memory"),
    .enabled(if: TPMMachine.isThere, "touchstoned or swtpm is missing"),
    .timeLimit(.minutes(20))
)
struct KeyResidueTests {
    private static let wrong = "wrong passcode hazel 2bd7"

    /// Where keys are kept.
    enum Seal: String, CaseIterable, CustomTestStringConvertible {
        case software
        case tpm

        var testDescription: String { rawValue }
    }

    /// A keychain, and the chip under it.
    private struct Machine {
        let keychain: PrivateKeychain
        let chip: TPMMachine?
        private let bus: PrivateBus
        private let fprintd: ScriptedFprintd

        init(_ seal: Seal) async throws {
            // With a finger enrolled: else there is no key of the current set.
            bus = try await PrivateBus.start(sensors: [])
            fprintd = try await ScriptedFprintd.start(on: bus, .init())
            let settings = ["test.template-directory = /nonexistent"]
            switch seal {
            case .software:
                chip = nil
                keychain = try PrivateKeychain(bus: bus, settings: settings)
            case .tpm:
                let machine = try await TPMMachine(bus: bus, settings: settings)
                chip = machine
                keychain = machine.keychain
            }
            try await keychain.start()
        }

        static func ready(_ seal: Seal) async throws -> Machine {
            let machine = try await Machine(seal)
            try machine.keychain.client.setUp(machine.keychain.prompt())
            // So that all that a set-up leaves is gone, and what is found is the next operation's.
            try machine.keychain.add("free", "kept")
            machine.keychain.stop(with: SIGTERM)
            try await machine.keychain.start()
            return machine
        }

        func memory() throws -> ProcessMemory { try ProcessMemory(keychain.processID) }

        /// The keys by which the files are sealed; ends the daemon where they are on a chip.
        func keys(
            _ files: DataCopy,
            passcode: String = PrivateKeychain.passcode
        ) async throws -> KeychainKeys {
            if chip != nil { keychain.stop(with: SIGTERM) }
            return try await .derived(files, passcode: passcode, tcti: chip?.recorder.tcti)
        }

        var code: String {
            get throws { try String(contentsOfFile: keychain.home.appending("code"), encoding: .utf8) }
        }
    }

    private static func expectNone(_ keys: [String: [UInt8]], in memory: ProcessMemory, _ moment: String) {
        for (name, key) in keys {
            let places = memory.places(of: key)
            #expect(places.isEmpty, "\(name), \(moment): \(places)")
        }
    }

    private static func expectLocked(_ keys: [String: [UInt8]], in memory: ProcessMemory, _ moment: String) {
        for (name, key) in keys {
            let places = memory.places(of: key)
            // The control: what is in use is found where it belongs.
            #expect(!places.isEmpty, "\(name), \(moment): the search finds nothing")
            let swappable = places.filter(\.isSwappable)
            #expect(swappable.isEmpty, "\(name), \(moment): \(swappable)")
        }
    }

    private static func expectNoneSwappable(
        _ keys: [String: [UInt8]],
        in memory: ProcessMemory,
        _ moment: String
    ) {
        for (name, key) in keys {
            let swappable = memory.places(of: key).filter(\.isSwappable)
            #expect(swappable.isEmpty, "\(name), \(moment): \(swappable)")
        }
    }

    private static func check(unlocked memory: ProcessMemory, _ keys: KeychainKeys, _ moment: String) {
        expectNone(keys.ofPasscode, in: memory, moment)
        expectLocked(keys.whileUnlocked, in: memory, moment)
        expectNoneSwappable(keys.prepared, in: memory, moment)
        expectLocked(keys.afterLock, in: memory, moment)
    }

    private static func check(locked memory: ProcessMemory, _ keys: KeychainKeys, _ moment: String) {
        expectNone(keys.ofPasscode, in: memory, moment)
        expectNone(keys.whileUnlocked, in: memory, moment)
        expectNoneSwappable(keys.prepared, in: memory, moment)
        expectLocked(keys.afterLock, in: memory, moment)
    }

    @Test(
        "unlocked, class keys are in locked pages alone; locked, those that a lock wipes are nowhere",
        arguments: Seal.allCases
    )
    func unlocking(_ seal: Seal) async throws {
        let machine = try await Machine.ready(seal)
        let keychain = machine.keychain
        let files = try DataCopy(of: keychain)
        var unlocked: [ProcessMemory] = []
        var locked: [ProcessMemory] = []
        for _ in 0..<CaseSize.of(2, full: 10) {
            try keychain.unlock()
            unlocked.append(try machine.memory())
            #expect(try keychain.value("free") == "kept")
            try keychain.add("guarded \(unlocked.count)", "behind the passcode", .devicePasscode)
            #expect(try keychain.value("guarded \(unlocked.count)") == "behind the passcode")
            unlocked.append(try machine.memory())
            try keychain.client.lock()
            locked.append(try machine.memory())
        }
        // The search finds what is there: the daemon knows where it lives.
        #expect(!unlocked[0].places(of: Array(keychain.layout.dataDirectory.utf8)).isEmpty)
        let keys = try await machine.keys(files)
        // The control of the states of keyed digests, which are made for the first item.
        for (name, state) in keys.prepared {
            #expect(unlocked.contains { !$0.places(of: state).isEmpty }, "\(name): the search finds nothing")
        }
        for memory in unlocked { Self.check(unlocked: memory, keys, "unlocked") }
        for memory in locked { Self.check(locked: memory, keys, "locked") }
    }

    // The first time that a process does something, names are looked up, and the linker saves the registers of whatever
    // thread does it. Timers, tasks and threads come in another order each time.
    @Test("the first unlock after a start leaves no half of a key in memory that can be swapped")
    func firstUnlocks() async throws {
        let machine = try await Machine.ready(.software)
        let keychain = machine.keychain
        let keys = try await machine.keys(try DataCopy(of: keychain))
        let all = keys.ofPasscode.merging(keys.whileUnlocked) { $1 }
        // As a vector register holds them: 32 bytes, or 16.
        let halves = all.filter { $0.value.count == 32 }.flatMap { name, key in
            [("\(name), first half", Array(key.prefix(16))), ("\(name), second half", Array(key.suffix(16)))]
        }
        #expect(halves.count > 10)
        for start in 0..<CaseSize.of(3, full: 100) {
            keychain.stop(with: SIGTERM)
            try await keychain.start()
            try keychain.unlock()
            let memory = try machine.memory()
            for (name, half) in halves {
                let swappable = memory.places(of: half).filter(\.isSwappable)
                #expect(swappable.isEmpty, "\(name), start \(start): \(swappable)")
            }
            let controls = halves.filter { !memory.places(of: $0.1).isEmpty }
            #expect(controls.count >= 2 * keys.whileUnlocked.count, "the search finds what is in use")
        }
    }

    @Test(
        "a set-up, a wrong passcode and a new passcode leave none of what they derive",
        arguments: Seal.allCases
    )
    func passcodes(_ seal: Seal) async throws {
        let machine = try await Machine(seal)
        let keychain = machine.keychain
        try keychain.client.setUp(keychain.prompt())
        let afterSetUp = try machine.memory()
        let files = try DataCopy(of: keychain)
        let recovery = try KeychainKeys.recovery(try machine.code, files)
        try keychain.client.lock()
        try keychain.tellPerson([.types(Self.wrong), .cancels])
        #expect(keychain.refusal() != nil)
        let afterWrong = try machine.memory()
        try keychain.client.changePasscode(keychain.prompt())
        let afterChange = try machine.memory()
        let changed = try DataCopy(of: keychain)
        try keychain.client.lock()
        let afterLock = try machine.memory()
        let new = try await machine.keys(changed)
        Self.check(unlocked: afterChange, new, "after a new passcode")
        Self.check(locked: afterLock, new, "after a new passcode and a lock")
        Self.expectNone(recovery, in: afterSetUp, "after a set-up")
        // The index of the former passcode is gone from the chip, and with it what only it opens.
        let wrongKeys = try await KeychainKeys.stretched(files, passcode: Self.wrong)
        Self.expectNone(wrongKeys.ofPasscode, in: afterWrong, "after a wrong passcode")
        Self.check(locked: afterWrong, new.withoutPasscode, "after a wrong passcode")
        Self.check(unlocked: afterSetUp, new.withoutPasscode, "after a set-up")
        let former = seal == .software ? try await KeychainKeys.derived(files) : try await .stretched(files)
        for memory in [afterSetUp, afterWrong, afterChange, afterLock] {
            Self.expectNone(former.ofPasscode, in: memory, "the former passcode")
        }
    }

    @Test("a recovery, an export and an import leave none of what they derive", arguments: Seal.allCases)
    func recovery(_ seal: Seal) async throws {
        let machine = try await Machine.ready(seal)
        let keychain = machine.keychain
        let before = try DataCopy(of: keychain)
        try keychain.client.recover(keychain.prompt())
        let afterRecovery = try machine.memory()
        let parts = Mutex<[UInt8]>([])
        _ = try keychain.client.exportKeychain(keychain.prompt()) { octets, _ in
            parts.withLock { $0 += octets }
        }
        let afterExport = try machine.memory()
        try keychain.client.lock()
        let afterLock = try machine.memory()
        let octets = parts.withLock { $0 }
        let recovery = try KeychainKeys.recovery(try machine.code, before, export: octets)
        let keys = try await machine.keys(try DataCopy(of: keychain))
        Self.check(unlocked: afterRecovery, keys, "after a recovery")
        Self.check(unlocked: afterExport, keys, "after an export")
        Self.check(locked: afterLock, keys, "after a lock")
        for memory in [afterRecovery, afterExport, afterLock] {
            Self.expectNone(recovery, in: memory, "the recovery code's keys")
        }

        let other = try await Machine(seal)
        try Data(try machine.code.utf8).write(to: URL(fileURLWithPath: other.keychain.home.appending("code")))
        for start in stride(from: 0, to: octets.count, by: MigrationLimits.partOctets) {
            let part = Array(octets[start...].prefix(MigrationLimits.partOctets))
            try other.keychain.client.sendImport(ImportPart(offset: start, octets: part))
        }
        #expect(try other.keychain.client.importKeychain(other.keychain.prompt()) == 1)
        let afterImport = try other.memory()
        try other.keychain.client.lock()
        let afterImportAndLock = try other.memory()
        let files = try DataCopy(of: other.keychain)
        let code = try KeychainKeys.recovery(try machine.code, files, export: octets)
        let imported = try await other.keys(files)
        Self.check(unlocked: afterImport, imported, "after an import")
        Self.check(locked: afterImportAndLock, imported, "after an import and a lock")
        Self.expectNone(code, in: afterImport, "after an import")
    }
}
