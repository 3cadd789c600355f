import Foundation
import Glibc
import KeychainClient
import KeychainModel
import SecretMemory
import Synchronization
import Testing
import TouchstoneTesting

/// Searches all of the daemon's memory that root can read for keys.
@Suite(
    "Keys in the daemon's memory",
    .serialized,
    .enabled(if: geteuid() == 0, "needs root to read the daemon's memory"),
    .enabled(if: TPMMachine.isThere, "touchstoned or swtpm is missing"),
    .timeLimit(.minutes(20))
)
struct KeyResidueTests {
    private static let wrong = "wrong passcode hazel 2bd7"

    /// Where the keys are sealed.
    enum Seal: String, CaseIterable, CustomTestStringConvertible {
        case software
        case tpm

        var testDescription: String { rawValue }
    }

    /// A keychain, and its TPM if it has one.
    private struct Machine {
        let keychain: PrivateKeychain
        let chip: TPMMachine?
        private let bus: PrivateBus
        private let fprintd: ScriptedFprintd

        init(_ seal: Seal) async throws {
            // With an enrolled finger: otherwise there is no key for the current set.
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
            // A restart discards what set-up left, so that what is found is from the next operation.
            try machine.keychain.add("free", "kept")
            machine.keychain.stop(with: SIGTERM)
            try await machine.keychain.start()
            return machine
        }

        func memory() throws -> ProcessMemory { try ProcessMemory(keychain.processID) }

        /// The keys that seal the files; stops the daemon if they are on a TPM.
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
            // The control: keys in use are found in locked memory.
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
        "class keys are in locked pages only while unlocked, and those that a lock wipes are nowhere after it",
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
        // The search works: it finds the daemon's data directory.
        #expect(!unlocked[0].places(of: Array(keychain.layout.dataDirectory.utf8)).isEmpty)
        let keys = try await machine.keys(files)
        // The control for the states of keyed digests, which are prepared for the first item.
        for (name, state) in keys.prepared {
            #expect(unlocked.contains { !$0.places(of: state).isEmpty }, "\(name): the search finds nothing")
        }
        for memory in unlocked { Self.check(unlocked: memory, keys, "unlocked") }
        for memory in locked { Self.check(locked: memory, keys, "locked") }
    }

    // At the first call of a function the dynamic linker resolves it, and saves the calling thread's registers. The order of
    // timers, tasks and threads differs each time.
    @Test("the first unlock after a start leaves no half of a key in swappable memory")
    func firstUnlocks() async throws {
        let machine = try await Machine.ready(.software)
        let keychain = machine.keychain
        let keys = try await machine.keys(try DataCopy(of: keychain))
        let all = keys.ofPasscode.merging(keys.whileUnlocked) { $1 }
        // In the sizes of vector registers: 32 or 16 bytes.
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
        "set-up, a wrong passcode and a passcode change leave none of the keys they derive",
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
        // The former passcode's index is gone from the TPM, and with it the keys that only it opens.
        let wrongKeys = try await KeychainKeys.stretched(files, passcode: Self.wrong)
        Self.expectNone(wrongKeys.ofPasscode, in: afterWrong, "after a wrong passcode")
        Self.check(locked: afterWrong, new.withoutPasscode, "after a wrong passcode")
        Self.check(unlocked: afterSetUp, new.withoutPasscode, "after a set-up")
        let former = seal == .software ? try await KeychainKeys.derived(files) : try await .stretched(files)
        for memory in [afterSetUp, afterWrong, afterChange, afterLock] {
            Self.expectNone(former.ofPasscode, in: memory, "the former passcode")
        }
    }

    @Test("recovery, export and import leave none of the keys they derive", arguments: Seal.allCases)
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
