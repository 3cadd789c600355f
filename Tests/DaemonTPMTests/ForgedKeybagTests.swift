import CBOR
import Foundation
import KeychainModel
import Primitives
import SecretMemory
import TPMDriver
import Testing
import TouchstoneTesting

@testable import KeychainEngine

/// A field of the keybag's record, as whoever can write the files may change it.
enum KeybagField: CaseIterable, Sendable {
    case storeID, cost, salt, assurance, blob, passcodeWrap, recoveryWrap, keys, currentSetKey, epoch,
        enrolment
    case hasFingers, passcodePublicKey, privateWrap, privateRecoveryWrap, hardware, adoption, generation
    case epochCounter, mark, epochEnds, enrolmentNames, revision, former

    enum Change: CaseIterable, Sendable { case removed, older, forged }

    /// Changes the field; `older` is an earlier record of the same keychain.
    func apply(_ change: Change, to record: inout KeybagRecord, _ older: KeybagRecord) {
        let random = RandomBytes.array(count: 32)
        func bytes(_ path: WritableKeyPath<KeybagRecord, [UInt8]>, _ forged: [UInt8]) {
            switch change {
            case .removed: record[keyPath: path] = [UInt8](repeating: 0, count: record[keyPath: path].count)
            case .older: record[keyPath: path] = older[keyPath: path]
            case .forged: record[keyPath: path] = forged
            }
        }
        func number(_ path: WritableKeyPath<KeybagRecord, UInt64>) {
            switch change {
            case .removed: record[keyPath: path] = 1
            case .older: record[keyPath: path] = older[keyPath: path]
            case .forged: record[keyPath: path] += 1000
            }
        }
        func optional(_ path: WritableKeyPath<KeybagRecord, [UInt8]?>) {
            record[keyPath: path] =
                switch change {
                case .removed: nil
                case .older: older[keyPath: path]
                case .forged: random
                }
        }
        let wrap = RandomBytes.array(count: record.recoveryWrap.count)
        switch self {
        case .storeID: bytes(\.storeID, RandomBytes.array(count: 16))
        case .cost: if change == .forged { record.cost = .applicationPassword }
        case .salt: bytes(\.salt, random)
        case .assurance: record.assurance = change == .forged ? .tpm : .softwareUser
        case .blob: bytes(\.blob, RandomBytes.array(count: record.blob.count))
        case .passcodeWrap: bytes(\.passcodeWrap, wrap)
        case .recoveryWrap: bytes(\.recoveryWrap, wrap)
        case .keys:
            switch change {
            case .removed: record.keys = [:]
            case .older: record.keys = older.keys
            case .forged: record.keys[KeybagKeyName.biometryAny.rawValue] = wrap
            }
        case .currentSetKey:
            let name = KeybagKeyName.biometryCurrentSet.rawValue
            record.keys[name] = change == .removed ? nil : change == .older ? older.keys[name] : wrap
        case .epoch: number(\.epoch)
        case .enrolment: optional(\.enrolment)
        case .hasFingers: record.hasFingers.toggle()
        case .passcodePublicKey: bytes(\.passcodePublicKey, PasscodeConstraint.makePair().publicKey)
        case .privateWrap: bytes(\.passcodePrivateWrap, wrap)
        case .privateRecoveryWrap: bytes(\.passcodePrivateRecoveryWrap, wrap)
        case .hardware: record.hardware = change == .older ? older.hardware : nil
        case .adoption:
            record.hardware?.adoptsAt = change == .removed ? 0 : change == .older ? 1 : .max - 1
        case .generation: record.hardware?.generation = change == .older ? [0] : random
        case .epochCounter:
            record.hardware?.epoch = change == .older ? older.hardware?.epoch ?? random : random
        case .mark: record.hardware?.mark = change == .removed ? nil : random
        case .epochEnds:
            record.epochEnds = change == .removed ? [] : change == .older ? older.epochEnds : random
        case .enrolmentNames: optional(\.enrolmentNames)
        case .revision: number(\.revision)
        case .former:
            record.former = [
                KeybagRecord.FormerObject(kind: .generation, blob: record.hardware?.generation ?? random)
            ]
        }
    }
}

/// Forms in which a forger writes a record: with the right code under the device key, but without the keybag key.
enum Forgery: CaseIterable, Sendable {
    /// With the seal of the record that it changed.
    case keptSeal
    /// With a seal under another key.
    case ownSeal
    /// As a version without seals.
    case formerVersion

    func file(_ record: KeybagRecord, instead original: [UInt8], deviceKey: Key) throws -> [UInt8]? {
        switch self {
        case .ownSeal: return StoredKeybag.file(of: record, sealKey: .random(), deviceKey: deviceKey)
        case .formerVersion: return Self.formerFile(record, deviceKey)
        case .keptSeal:
            let content = try CBORReader.read(original) { reader in
                _ = try reader.readArrayHead()
                let content = try reader.readBytes()
                _ = try reader.readBytes()
                return content
            }
            return Self.file(
                content: { writer in
                    writer.writeArrayHead(count: 3)
                    writer.write(unsigned: KeybagRecord.version)
                    writer.write(bytes: record.encoded())
                    writer.write(bytes: Array(content.suffix(KeyedDigest.byteCount)))
                },
                deviceKey
            )
        }
    }

    private static func file(content: (inout CBORWriter<[UInt8]>) -> Void, _ deviceKey: Key) -> [UInt8] {
        var inner = CBORWriter([UInt8]())
        content(&inner)
        let octets = inner.finish()
        var writer = CBORWriter([UInt8]())
        writer.writeArrayHead(count: 2)
        writer.write(bytes: octets)
        writer.write(bytes: KeyedDigest.of(octets, key: deviceKey))
        return writer.finish()
    }

    /// The same as a version 3 wrote it; nil if it has no place for a change.
    private static func formerFile(_ record: KeybagRecord, _ deviceKey: Key) -> [UInt8] {
        file(
            content: { writer in
                writer.writeArrayHead(count: 20)
                writer.write(unsigned: 3)
                writer.write(bytes: record.storeID)
                for number in [record.cost.roundsExponent, record.cost.blockSize, record.cost.parallelism] {
                    writer.write(number)
                }
                writer.write(bytes: record.salt)
                writer.write(record.assurance.rawValue)
                for bytes in [record.blob, record.passcodeWrap, record.recoveryWrap] {
                    writer.write(bytes: bytes)
                }
                writer.writeMapHead(count: record.keys.count)
                for (name, wrapped) in record.keys.sorted(by: { $0.key < $1.key }) {
                    writer.write(unsigned: UInt64(name))
                    writer.write(bytes: wrapped)
                }
                writer.write(unsigned: record.epoch)
                if let digest = record.enrolment { writer.write(bytes: digest) } else { writer.writeNull() }
                for bytes in [
                    record.passcodePublicKey, record.passcodePrivateWrap, record.passcodePrivateRecoveryWrap,
                ] { writer.write(bytes: bytes) }
                if let hardware = record.hardware {
                    writer.writeArrayHead(count: 3)
                    writer.write(bytes: hardware.epoch)
                    writer.write(bytes: hardware.generation)
                    writer.write(hardware.adoptsAt == nil)
                } else {
                    writer.writeNull()
                }
                writer.write(record.hasFingers)
                writer.write(bytes: record.epochEnds)
                if let digest = record.enrolmentNames {
                    writer.write(bytes: digest)
                } else {
                    writer.writeNull()
                }
            },
            deviceKey
        )
    }
}

/// A keychain in this process, with or without a TPM, that can be stopped and started.
struct EngineMachine {
    static let passcode = "correct horse battery staple"
    static let left = Enrolment(
        device: "sensor",
        fingers: ["left-index"],
        templateDigest: nil,
        completions: 0
    )
    static let both = Enrolment(
        device: "sensor",
        fingers: ["left-index", "right-index"],
        templateDigest: nil,
        completions: 0
    )

    let home: TemporaryDirectory
    let path: String
    let chip: SoftwareTPM?

    init(hasTPM: Bool) async throws {
        home = try TemporaryDirectory()
        path = home.appending("data")
        chip = hasTPM ? try await SoftwareTPM.start() : nil
    }

    /// A keychain of an earlier version (`Fixtures` of `KeychainEngineTests`).
    init(fixture name: String) async throws {
        let fixture = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .appendingPathComponent("KeychainEngineTests/Fixtures/\(name)").path
        home = try TemporaryDirectory()
        path = home.appending("data")
        chip = try await SoftwareTPM.start()
        try await chip?.restoreState(SoftwareTPM.State(directory: fixture + "/chip"))
        try FileManager.default.createDirectory(
            atPath: path,
            withIntermediateDirectories: true,
            attributes: [.posixPermissions: 0o700]
        )
        for file in try FileManager.default.contentsOfDirectory(atPath: fixture + "/store") {
            try put(Array(try Data(contentsOf: URL(fileURLWithPath: "\(fixture)/store/\(file)"))), as: file)
        }
    }

    func put(_ content: [UInt8]?, as name: String) throws {
        guard let content else {
            try? FileManager.default.removeItem(atPath: "\(path)/\(name)")
            return
        }
        try Data(content).write(to: URL(fileURLWithPath: "\(path)/\(name)"))
        unsafe chmod("\(path)/\(name)", 0o600)
    }

    /// All files.
    func files() throws -> [String: [UInt8]] {
        var files: [String: [UInt8]] = [:]
        for name in try FileManager.default.contentsOfDirectory(atPath: path) {
            files[name] = Array(try Data(contentsOf: URL(fileURLWithPath: "\(path)/\(name)")))
        }
        return files
    }

    func restore(_ files: [String: [UInt8]]) throws {
        for name in try FileManager.default.contentsOfDirectory(atPath: path) where files[name] == nil {
            try put(nil, as: name)
        }
        for (name, content) in files { try put(content, as: name) }
    }

    /// Runs `body` with a daemon's engine, which is closed afterwards.
    func run<Value>(_ body: (KeychainEngine) async throws -> Value) async throws -> Value {
        let directory = try StoreDirectory(path: path)
        let tpm = chip.map { TPM(configuration: $0.tcti, notes: HardwareNotesFile(directory: directory)) }
        let engine = try KeychainEngine(
            directory: directory,
            sealer: DeviceSealer(
                file: FileKeySealer(directory: directory),
                hardware: tpm.map { TPMKeySealer($0) }
            ),
            counters: tpm.map { TPMHardwareGuard($0) },
            derivation: .test
        )
        let result: Result<Value, any Error>
        do { result = .success(try await body(engine)) } catch { result = .failure(error) }
        await engine.close()
        await tpm?.close()
        return try result.get()
    }

    /// Sets up the keychain, and removes a protected item after a finger was added.
    ///
    /// - Returns: the recovery code, and the files with the record before the change, and now.
    func made() async throws -> (code: [UInt8], older: Snapshot, current: Snapshot) {
        var code: [UInt8] = []
        let older = try await run { engine in
            let made = try engine.keybag.makeRecoveryCode()
            code = made.withOctets { octets in octets.indices.map { octets[$0] } }
            try await engine.keybag.setUp(
                passcode: Self.text(Self.passcode),
                recoveryCode: made,
                enrolled: Self.left
            )
            try await engine.put("plain", "first")
            try await engine.put("deleted", "protected", .devicePasscode)
            return try await snapshot(engine)
        }
        let olderFiles = try files()
        let current = try await run { engine in
            _ = try await engine.keybag.open(passcode: Self.text(Self.passcode))
            _ = try await engine.keybag.observe(Self.both)
            try await engine.remove("deleted")
            return try await snapshot(engine)
        }
        return (code, Snapshot(older, olderFiles), Snapshot(current, try files()))
    }

    private func snapshot(_ engine: KeychainEngine) async throws -> (KeybagRecord, Key, UInt64) {
        let record = try #require(await engine.keybag.record)
        let sealKey = try #require(await engine.keybag.standing.sealKey)
        return (record, sealKey, try await engine.keybag.hardwareGeneration(of: record) ?? 1)
    }

    struct Snapshot {
        let record: KeybagRecord
        let sealKey: Key
        /// The value of the hardware's counter at that time; 1 without hardware.
        let counted: UInt64
        let files: [String: [UInt8]]

        init(_ opened: (KeybagRecord, Key, UInt64), _ files: [String: [UInt8]]) {
            (record, sealKey, counted) = opened
            self.files = files
        }
    }

    static func text(_ text: String) -> SecretBytes { SecretBytes(copying: Array(text.utf8)) }

    func deviceKey() throws -> Key {
        try #require(try DeviceKeyFile(directory: StoreDirectory(path: path)).key(.keybagCode))
    }
}

extension KeychainEngine {
    private static let group = AccessGroup("/usr/bin/ours")

    fileprivate func put(_ account: String, _ secret: String, _ flags: AccessControlFlags = []) async throws {
        let item = NewItem(
            itemClass: .genericPassword,
            attributes: [.account: .string(account), .service: .string("tests")],
            accessControl: try AccessControl(accessibility: .whenUnlocked, flags: flags),
            data: SecretBytes(copying: Array(secret.utf8)),
            returns: .persistentRef
        )
        let authorization = ItemAuthorization(applicationPassword: nil)
        _ = try items.add(item, group: try #require(Self.group), authorization: authorization)
        await items.settle()
    }

    fileprivate func remove(_ account: String) async throws {
        let query = ItemQuery(itemClass: .genericPassword, attributes: [.account: .string(account)])
        _ = try items.delete(query, groups: [try #require(Self.group)])
        await items.settle()
    }

    /// Whether an item exists and is served.
    fileprivate func serves(_ account: String) async -> Bool {
        var query = ItemQuery(itemClass: .genericPassword, attributes: [.account: .string(account)])
        query.returns = .attributes
        let authorization = ItemAuthorization(applicationPassword: nil)
        guard let group = Self.group else { return false }
        return (try? items.copy(query, groups: [group], authorization: authorization, after: nil)) != nil
    }

    /// Whether the passcode opens it; false if it is refused.
    fileprivate func opens() async -> Bool {
        guard
            case .opened = try? await keybag.open(passcode: EngineMachine.text(EngineMachine.passcode))
        else { return false }
        return true
    }
}

@Suite(
    "A keybag's record that was changed by whoever can write all files is never believed",
    .serialized,
    .enabled(if: TPMMachine.isThere, "touchstoned or swtpm is missing"),
    .timeLimit(.minutes(CaseSize.of(20, full: 90)))
)
struct ForgedKeybagTests {
    private struct Case {
        let field: KeybagField
        let change: KeybagField.Change
        let forgery: Forgery
        /// Whether the items are the older ones, too.
        let hasOlderItems: Bool
        let isRestarted: Bool

        static let all: [Case] = KeybagField.allCases.flatMap { field in
            KeybagField.Change.allCases.flatMap { change in
                Forgery.allCases.flatMap { forgery in
                    [(false, false), (false, true), (true, true)].map {
                        Case(
                            field: field,
                            change: change,
                            forgery: forgery,
                            hasOlderItems: $0.0,
                            isRestarted: $0.1
                        )
                    }
                }
            }
        }
    }

    @Test(
        "each field, removed, older or forged, in software and with a TPM, running and restarted",
        arguments: [false, true]
    )
    func fields(hasTPM: Bool) async throws {
        let machine = try await EngineMachine(hasTPM: hasTPM)
        let (_, older, current) = try await machine.made()
        let deviceKey = try machine.deviceKey()
        var tried = 0
        var accepted: [String] = []
        let step = CaseSize.of(hasTPM ? 17 : 7, full: 1)
        for (number, one) in Case.all.enumerated() where number % step == 0 {
            // Only a chip tells that all files are older together.
            if one.hasOlderItems && !hasTPM { continue }
            var record = one.hasOlderItems && one.forgery != .keptSeal ? older.record : current.record
            one.field.apply(one.change, to: &record, older.record)
            guard record != current.record,
                let file = try one.forgery.file(
                    record,
                    instead: current.files["keybag"] ?? [],
                    deviceKey: deviceKey
                )
            else { continue }
            tried += 1
            func forge() throws {
                for name in ["keybag", "keybag.copy"] { try machine.put(file, as: name) }
                guard one.hasOlderItems else { return }
                for name in ["items.sqlite", "items.sqlite-wal", "items.sqlite-shm"] {
                    try machine.put(older.files[name], as: name)
                }
            }
            try machine.restore(current.files)
            let isAccepted: Bool
            if one.isRestarted {
                try forge()
                isAccepted = try await machine.run { engine in
                    let isOpen = await engine.opens()
                    let served = await engine.serves("deleted")
                    return isOpen || served
                }
            } else {
                isAccepted = try await machine.run { engine in
                    #expect(await engine.opens())
                    await engine.keybag.lock()
                    try forge()
                    let isOpen = await engine.opens()
                    return isOpen
                }
            }
            if isAccepted { accepted.append("\(one)") }
            // The right files open, which also resets the chip's count.
            try machine.restore(current.files)
            let isWell = try await machine.run { await $0.opens() }
            #expect(isWell, "\(one)")
        }
        #expect(accepted.isEmpty, "\(accepted.count) of \(tried): \(accepted.prefix(20))")
        #expect(tried > CaseSize.of(15, full: 250), "\(tried)")
    }

    @Test(
        "records that are authentic, but of an earlier moment, accept nothing older",
        arguments: [false, true]
    )
    func earlierMoments(hasTPM: Bool) async throws {
        let machine = try await EngineMachine(hasTPM: hasTPM)
        let (_, older, current) = try await machine.made()
        let deviceKey = try machine.deviceKey()
        var cases: [(name: String, record: KeybagRecord, items: EngineMachine.Snapshot)] = [
            ("an earlier record beside the present items", older.record, current)
        ]
        if hasTPM {
            var before = older.record
            before.hardware = nil
            cases.append(("of the time before the chip, with its items", before, older))
            var yet = older.record
            // Its value when that record was written, and every one before.
            for value in 1...older.counted {
                yet.hardware?.adoptsAt = value
                cases.append(("yet to adopt at \(value)", yet, older))
            }
        }
        for one in cases {
            let file = StoredKeybag.file(of: one.record, sealKey: current.sealKey, deviceKey: deviceKey)
            try machine.restore(one.items.files)
            for name in ["keybag", "keybag.copy"] { try machine.put(file, as: name) }
            let isServed = try await machine.run { engine in
                let isOpen = await engine.opens()
                let isServed = await engine.serves("deleted")
                // With the older items it may open, but serves none.
                return one.items.record == current.record ? isOpen : isServed
            }
            #expect(!isServed, "\(one.name)")
        }
        try machine.restore(current.files)
        let isWell = try await machine.run { await $0.opens() }
        #expect(isWell)
    }

    @Test("after a recovery from forged files nothing forged is believed", arguments: [false, true])
    func recovery(hasTPM: Bool) async throws {
        let machine = try await EngineMachine(hasTPM: hasTPM)
        let (code, older, current) = try await machine.made()
        let deviceKey = try machine.deviceKey()
        let fields: [KeybagField] = [
            .passcodePublicKey, .cost, .enrolment, .epoch, .hardware, .assurance, .former, .revision, .blob,
        ]
        let state = try await machine.chip?.copyState()
        for (number, field) in fields.enumerated() where CaseSize.isFull || number % 3 == 0 {
            for forgery in Forgery.allCases {
                if let state { try await machine.chip?.restoreState(state) }
                try machine.restore(current.files)
                var forged = current.record
                field.apply(.forged, to: &forged, older.record)
                let file = try #require(
                    try forgery.file(forged, instead: current.files["keybag"] ?? [], deviceKey: deviceKey)
                )
                for name in ["keybag", "keybag.copy"] { try machine.put(file, as: name) }
                let record = try await machine.run { engine in
                    try await engine.keybag.recover(
                        code: SecretBytes(copying: code),
                        newPasscode: EngineMachine.text(EngineMachine.passcode)
                    )
                    #expect(await engine.serves("plain"))
                    return try #require(await engine.keybag.record)
                }
                #expect(record.passcodePublicKey == current.record.passcodePublicKey, "\(field), \(forgery)")
                #expect(record.cost == current.record.cost, "\(field), \(forgery)")
                #expect((record.hardware == nil) == !hasTPM, "\(field), \(forgery)")
                #expect(record.former.isEmpty, "\(field), \(forgery)")
                let isWell = try await machine.run { await $0.opens() }
                #expect(isWell, "\(field), \(forgery)")
            }
        }
    }

    @Test("a TPM's keychain of version 3 opens and is converted; its former files are refused afterwards")
    func formerVersion() async throws {
        let machine = try await EngineMachine(fixture: "keybag-3-tpm")
        let former = try machine.files()
        for _ in 0..<2 {
            try await machine.run { engine in
                #expect(await engine.opens())
                #expect(await engine.serves("account 3"))
                #expect(try await engine.keybag.observe(EngineMachine.left).changed == false)
                let record = try #require(await engine.keybag.record)
                #expect(
                    record.hardware?.mark != nil && record.hardware?.adoptsAt == nil && record.revision > 0
                )
            }
        }
        let converted = try machine.files()
        let deviceKey = try machine.deviceKey()
        let record = try await machine.run { engine in try #require(await engine.keybag.record) }
        var withoutHardware = record
        withoutHardware.hardware = nil
        let forged = try Forgery.formerVersion.file(withoutHardware, instead: [], deviceKey: deviceKey)
        for (name, keybag, items) in [
            ("keybag", former["keybag"], converted), ("everything", former["keybag"], former),
            ("forged", forged, former), ("forged, without items", forged, [:]),
        ] {
            try machine.restore(items)
            for name in ["device.key", "attempts", "tpm.notes"] { try machine.put(converted[name], as: name) }
            try machine.put(nil, as: "keybag.copy")
            try machine.put(keybag, as: "keybag")
            let isOpen = try await machine.run { await $0.opens() }
            #expect(!isOpen, "\(name)")
        }
        try machine.restore(converted)
        let isWell = try await machine.run { await $0.opens() }
        #expect(isWell)
    }
}
