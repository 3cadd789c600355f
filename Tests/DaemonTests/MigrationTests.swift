import Foundation
import Glibc
import KeychainClient
import KeychainModel
import SecretMemory
import Synchronization
import Testing
import TouchstoneTesting

@Suite("Moving a keychain to another daemon", .enabled(if: Programs.isBuilt, "touchstoned is not built"))
struct MigrationTests {
    private static let secret = "marker-of-a-secret-41aa"
    private static let account = "marker-of-an-account-7e02"

    /// A daemon without a keychain whose user knows another keychain's recovery code.
    private static func machine(after old: PrivateKeychain) async throws -> PrivateKeychain {
        let new = try PrivateKeychain()
        try FileManager.default.copyItem(
            atPath: old.home.appending("code"),
            toPath: new.home.appending("code")
        )
        try await new.start()
        return new
    }

    private static func add(
        _ account: String,
        _ secret: [UInt8],
        _ flags: AccessControlFlags = [],
        to keychain: PrivateKeychain
    ) throws {
        let item = AddItem(
            itemClass: .genericPassword,
            attributes: [.account: .string(account), .service: .string("test")],
            accessControl: try AccessControl(accessibility: .whenUnlocked, flags: flags),
            data: SecretBytes(copying: secret),
            prompt: keychain.prompt()
        )
        _ = try keychain.client.add(item)
    }

    private static func export(_ keychain: PrivateKeychain) throws -> (
        octets: [UInt8], report: ExportReport
    ) {
        let collected = Mutex<[UInt8]>([])
        let report = try keychain.client.exportKeychain(keychain.prompt()) { octets, _ in
            collected.withLock { $0 += octets }
        }
        return (collected.withLock { $0 }, report)
    }

    private static func send(_ octets: [UInt8], to keychain: PrivateKeychain) throws {
        for start in stride(from: 0, to: octets.count, by: MigrationLimits.partOctets) {
            let part = Array(octets[start...].prefix(MigrationLimits.partOctets))
            try keychain.client.sendImport(ImportPart(offset: start, octets: part))
        }
    }

    private static func found(_ account: String, in keychain: PrivateKeychain) throws -> String? {
        let attributes: ItemAttributes = [.account: .string(account)]
        let query = ItemQuery(itemClass: .genericPassword, attributes: attributes, returns: .data)
        let results = try keychain.client.copy(CopyItems(query: query, prompt: keychain.prompt()))
        let item = results.first()
        guard let data = try item?.copyData() else { return nil }
        return data.withOctets { octets in
            String(decoding: octets.indices.map { octets[$0] }, as: UTF8.self)
        }
    }

    @Test("an export requires the recovery code; an import the code and a new passcode")
    func moves() async throws {
        let old = try await PrivateKeychain.ready(settings: ["log-level = trace"])
        try Self.add(Self.account, Array(Self.secret.utf8), .devicePasscode, to: old)
        // Together more than one frame, and each more than one part.
        for index in 0..<3 {
            try Self.add("large \(index)", [UInt8](repeating: UInt8(65 + index), count: 700_000), to: old)
        }
        try old.client.lock()
        var prompts = old.prompts
        let (octets, report) = try Self.export(old)
        #expect(old.prompts == prompts + 1)
        #expect(report.items == 4 && report.leftOut.isEmpty && report.isSetAuthentic)
        #expect(octets.count > 2_100_000)
        #expect(try old.client.status().keybag == .lockedAfterFirstUnlock)

        let new = try await Self.machine(after: old)
        try Self.send(octets, to: new)
        #expect(try new.client.importKeychain(new.prompt()) == 4)
        // A prompt for the code, and one for the new passcode and its repetition.
        #expect(new.prompts == 2)
        #expect(try new.client.status().keybag == .unlocked)
        #expect(try Self.found("large 2", in: new)?.count == 700_000)
        prompts = new.prompts
        #expect(try Self.found(Self.account, in: new) == Self.secret)
        #expect(new.prompts == prompts + 1, "it demands the passcode as before")
        #expect(try new.client.check().isSetAuthentic)

        #expect(try Self.found(Self.account, in: old) == Self.secret)
        old.stop(with: SIGTERM)
        new.stop(with: SIGTERM)
        try Self.checkResidue(octets, old, new)
    }

    private static func checkResidue(_ octets: [UInt8], _ old: PrivateKeychain, _ new: PrivateKeychain)
        throws
    {
        let code = try String(contentsOf: old.home.appending("code"))
        var contents = [Data(octets)]
        for keychain in [old, new] {
            let data = keychain.layout.dataDirectory
            var files = [keychain.home.appending("daemon.stderr")]
            files += try FileManager.default.contentsOfDirectory(atPath: data).map { data + "/" + $0 }
            contents += try files.map { try Data(contentsOf: URL(fileURLWithPath: $0)) }
        }
        #expect(contents.count > 8)
        for marker in [secret, account, code, PrivateKeychain.passcode] {
            #expect(!contents.contains { $0.range(of: Data(marker.utf8)) != nil })
        }
    }

    @Test("a wrong code is asked for three times, and wrong codes and cancellations yield nothing")
    func refusals() async throws {
        let old = try await PrivateKeychain.ready()
        try Self.add("one", [1], to: old)
        let other = try await PrivateKeychain.ready()
        let wrong = try String(contentsOf: other.home.appending("code"))

        try old.tellPerson([.types(wrong), .types(wrong), .types(wrong)])
        #expect(throws: KeychainError(.authFailed)) { try Self.export(old) }
        try old.tellPerson([.cancels])
        #expect(throws: KeychainError(.userCanceled)) { try Self.export(old) }
        try old.tellPerson([.types(wrong)])
        let octets = try Self.export(old).octets

        let new = try await Self.machine(after: old)
        #expect(throws: KeychainError(.param), "nothing was sent") {
            try new.client.importKeychain(new.prompt())
        }
        #expect(throws: KeychainError(.param), "the parts before are missing") {
            try new.client.sendImport(ImportPart(offset: 7, octets: [1]))
        }
        try Self.send(octets, to: new)
        try new.tellPerson([.types(wrong), .types(wrong), .types(wrong)])
        #expect(throws: KeychainError(.authFailed)) { try new.client.importKeychain(new.prompt()) }
        try Self.send(Array(octets.dropLast()), to: new)
        let cut = #expect(throws: KeychainError.self) { try new.client.importKeychain(new.prompt()) }
        #expect(cut?.cause == .exportDamaged)
        try Self.send(Array("no export".utf8), to: new)
        let prompts = new.prompts
        let none = #expect(throws: KeychainError.self) { try new.client.importKeychain(new.prompt()) }
        #expect(none?.cause == .notAnExport)
        #expect(new.prompts == prompts, "nobody is asked for the code of what is no export")
        #expect(try new.client.status().keybag == .notSetUp)
        try Self.send(octets, to: new)
        #expect(try new.client.importKeychain(new.prompt()) == 1)

        try Self.send(octets, to: new)
        let taken = #expect(throws: KeychainError.self, "there is a keychain now") {
            try new.client.importKeychain(new.prompt())
        }
        #expect(taken?.cause == .alreadySetUp)
        // The names of all programs' items are for the daemon's own command alone.
        try Self.send(octets, to: new)
        let before = new.prompts
        #expect(throws: KeychainError(.missingEntitlement)) {
            try new.client.openExport(ExportRequest(prompt: new.prompt())) { _ in }
        }
        #expect(new.prompts == before)
    }

    @Test("repeatedly cancelled exports are limited like other prompts")
    func counted() async throws {
        let keychain = try await PrivateKeychain.ready()
        let atStart = keychain.prompts
        try keychain.tellPerson(Array(repeating: .cancels, count: 12))
        var causes: Set<String> = []
        for _ in 0..<12 {
            let error = #expect(throws: KeychainError.self) { try Self.export(keychain) }
            causes.insert(error?.cause?.code ?? "")
        }
        #expect(!causes.isDisjoint(with: ["callerSilenced", "promptRate"]), "\(causes)")
        #expect(keychain.prompts < atStart + 12)
    }

    @Test("a client that disconnects midway leaves nothing behind, on either side")
    func vanishing() async throws {
        let old = try await PrivateKeychain.ready()
        try Self.add("one", [UInt8](repeating: 1, count: 900_000), to: old)
        // Gives up at the first part.
        #expect(throws: KeychainError(.diskFull)) {
            try old.client.exportKeychain(old.prompt()) { _, _ throws(KeychainError) in
                throw KeychainError(.diskFull)
            }
        }
        let octets = try Self.export(old).octets

        let new = try await Self.machine(after: old)
        do {
            let client = RemoteKeychain(layout: new.layout, daemon: .none)
            try client.sendImport(ImportPart(offset: 0, octets: Array(octets.prefix(200_000))))
        }
        // The upload of another connection is not visible.
        #expect(throws: KeychainError(.param)) {
            try new.client.sendImport(ImportPart(offset: 200_000, octets: [1]))
        }
        #expect(try FileManager.default.contentsOfDirectory(atPath: new.layout.dataDirectory).isEmpty)
        try await Deadline.wait(for: "the daemon to let go of the upload") {
            let files = "/proc/\(new.processID)/fd"
            let open = try FileManager.default.contentsOfDirectory(atPath: files).compactMap {
                try? FileManager.default.destinationOfSymbolicLink(atPath: files + "/" + $0)
            }
            return open.contains { $0.contains("export.new") } ? nil : true
        }
        try Self.send(octets, to: new)
        #expect(try new.client.importKeychain(new.prompt()) == 1)
    }
}
