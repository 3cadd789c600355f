import Foundation
import GRDB
import KeychainEngine
import KeychainModel
import SecretMemory
import Testing

@Suite("Moving a keychain to another machine with its recovery code")
struct MovingTests {
    /// All access controls under which an item may be exported.
    static func movable() throws -> [String: AccessControl] {
        let flags: [String: AccessControlFlags] = [
            "free": [], "presence": .userPresence, "finger": .biometryAny, "passcode": .devicePasscode,
            "either": [.biometryAny, .or, .devicePasscode], "both": [.biometryAny, .and, .devicePasscode],
            "companion": [.companion, .or, .devicePasscode],
        ]
        var controls: [String: AccessControl] = [:]
        for accessibility in [Accessibility.whenUnlocked, .afterFirstUnlock, .always] {
            for (name, flags) in flags {
                controls["\(name) \(accessibility.rawValue)"] = try AccessControl(
                    accessibility: accessibility,
                    flags: flags
                )
            }
        }
        return controls
    }

    @Test("every exportable item arrives unchanged under its access control, from a locked keychain")
    func roundTrip() async throws {
        let old = try await OldKeychain()
        let controls = try Self.movable()
        for (name, control) in controls {
            let label: ItemAttributes = [.label: .string("label of \(name)"), .generic: .data([1, 2, 3])]
            try await old.engine.add(name, "secret of \(name)", control, attributes: label)
        }
        try await old.engine.add("without data", nil)
        try await old.engine.add("of others", "theirs", group: .theirs)
        try await old.engine.add("large", String(repeating: "x", count: 700_000))
        await old.engine.lock()

        let export = try await old.export()
        #expect(export.report == ExportReport(items: controls.count + 3))
        #expect(await old.engine.state() == .lockedAfterFirstUnlock, "the export unlocks nothing")

        let there = TestKeychain()
        let engine = try there.start(time: 1_800_000_000_000_000)
        #expect(try await engine.setUp(from: export.octets(), code: old.code) == controls.count + 3)
        #expect(await engine.state() == .unlocked)
        await engine.close()

        let copy = try there.copy()
        let next = try copy.start()
        let key = try await next.key(TestKeychain.newPasscode)
        for (name, control) in controls {
            let proofs = [Proofs.of(control, [.biometry, .passcode], key: key)]
            let found = try await next.all([.account: .string(name)], proofs: proofs)
            #expect(found.map(\.text) == ["secret of \(name)"])
            let attributes = try #require(found.first?.attributes)
            #expect(attributes[.label] == .string("label of \(name)"))
            #expect(attributes[.generic] == .data([1, 2, 3]))
            #expect(attributes[.creationDate] == .date(1_700_000_000_000_000))
            #expect(attributes[.modificationDate] == .date(1_700_000_000_000_000))
            guard !control.constraints.isEmpty else { continue }
            await #expect(throws: NeedsAuthentication.self, "\(name)") {
                try await next.all([.account: .string(name)])
            }
        }
        #expect(try await next.all([.account: .string("without data")]).map(\.data) == [nil])
        #expect(try await next.all(groups: [.theirs]).map(\.text) == ["theirs"])
        #expect(try await next.secret("large")?.count == 700_000)
        let report = await next.check()
        #expect(report.isSetAuthentic && report.damaged == 0 && report.items == controls.count + 3)

        let isAccepted = try await next.accepts(recoveryCode: .text(old.code))
        #expect(isAccepted, "the recovery code moves with the keychain")
        #expect(try await old.engine.opens(TestKeychain.passcode), "the old keychain stays")
        #expect(try await old.engine.secret("free ak") == "secret of free ak")
    }

    @Test("an empty keychain can be moved")
    func empty() async throws {
        let old = try await OldKeychain()
        let there = TestKeychain()
        let engine = try there.start()
        #expect(try await engine.setUp(from: old.export().octets(), code: old.code) == 0)
    }

    @Test("items that may not be exported are left out and reported by reason")
    func leftOut() async throws {
        let old = try await OldKeychain()
        let engine = old.engine
        _ = try await engine.observe(Self.fingers("left"))
        let whenUnlocked = Accessibility.whenUnlocked
        try await engine.add("moves", "moves")
        for accessibility in Accessibility.allCases where accessibility.rawValue.hasSuffix("u") {
            try await engine.add(accessibility.rawValue, "x", AccessControl(accessibility: accessibility))
        }
        let current = try AccessControl(accessibility: whenUnlocked, flags: .biometryCurrentSet)
        try await engine.add("finger", "x", current)
        let password = try AccessControl(accessibility: whenUnlocked, flags: .applicationPassword)
        try await engine.add("password", "x", password, password: ApplicationPassword(.text("word")))
        try await engine.add("token", "x", attributes: [.tokenID: .string("com.apple.setoken")])
        let use = try AccessControl(
            accessibility: .whenUnlockedThisDeviceOnly,
            flags: [.privateKeyUsage, .userPresence]
        )
        try await engine.add("key", "x", use)

        let report = try await old.export().report
        #expect(report.items == 1)
        #expect(
            report.leftOut == [
                .thisDeviceOnly: 4, .enrolledSet: 1, .applicationPassword: 1, .privateKey: 2,
            ]
        )
        #expect(
            Set(report.names.map(\.name)) == [
                "akpu", "aku", "cku", "dku", "finger", "password", "token", "key",
            ]
        )
        #expect(report.names.allSatisfy { $0.group == AccessGroup.ours.name })
        #expect(report.isSetAuthentic)
    }

    @Test("an item of an invalidated enrolled set is left out, or exported under its remaining constraint")
    func invalidated() async throws {
        let old = try await OldKeychain()
        _ = try await old.engine.observe(Self.fingers("left"))
        let gone = try AccessControl(accessibility: .whenUnlocked, flags: .biometryCurrentSet)
        let either = try AccessControl(
            accessibility: .whenUnlocked,
            flags: [.biometryCurrentSet, .or, .devicePasscode]
        )
        try await old.engine.add("gone", "x", gone)
        try await old.engine.add("either", "still there", either)
        _ = try await old.engine.observe(Self.fingers("left", "right"))

        let export = try await old.export()
        #expect(export.report.items == 1)
        #expect(export.report.leftOut == [.enrolledSet: 1])
        let there = TestKeychain()
        let engine = try there.start()
        try await engine.setUp(from: export.octets(), code: old.code)
        let passcode = try AccessControl(accessibility: .whenUnlocked, flags: .devicePasscode)
        let key = try await engine.key(TestKeychain.newPasscode)
        let proofs = [Proofs.of(passcode, [.passcode], key: key)]
        #expect(try await engine.secret("either", proofs: proofs) == "still there")
    }

    @Test("damaged items are counted, and the others are exported")
    func damaged() async throws {
        let old = try await OldKeychain()
        for index in 0..<5 { try await old.engine.add("account \(index)") }
        await old.engine.close()
        let queue = try DatabaseQueue(path: old.keychain.file("items.sqlite"))
        try await queue.write { database in
            try database.execute(sql: "UPDATE items SET data = zeroblob(length(data)) WHERE id = 2")
            try database.execute(sql: "DELETE FROM items WHERE id = 3")
        }
        try queue.close()

        let copy = try old.keychain.copy()
        let next = try copy.start()
        let report = try await next.export(recoveryCode: .text(old.code)).report
        #expect(report.items == 3)
        #expect(report.leftOut == [.damaged: 1])
        #expect(!report.isSetAuthentic, "a row that is gone shows")
    }

    @Test("a wrong or mistyped recovery code exports nothing")
    func wrongCode() async throws {
        let old = try await OldKeychain()
        let other = try old.engine.makeRecoveryCode().reading()
        for code in [other, String(old.code.dropLast()), "", TestKeychain.passcode] {
            await #expect(throws: KeychainError(.authFailed)) {
                _ = try await old.engine.export(recoveryCode: .text(code))
            }
        }
        let there = TestKeychain()
        let missing = try there.start()
        await #expect(throws: KeychainError(.notAvailable)) {
            _ = try await missing.export(recoveryCode: .text(other))
        }
    }

    @Test("an export contains no name or secret in clear, and no two exports are alike")
    func residue() async throws {
        let old = try await OldKeychain()
        let (secret, account) = ("marker-of-a-secret-5b1e", "marker-of-an-account-c3d7")
        try await old.engine.add(account, secret)
        let (first, second) = (try await old.export().octets(), try await old.export().octets())
        for octets in [first, second] {
            let text = String(decoding: octets, as: UTF8.self)
            for marker in [secret, account, "tests", AccessGroup.ours.name, old.code] {
                #expect(!text.contains(marker))
            }
        }
        let (one, other) = (MemoryExport.parts(of: first), MemoryExport.parts(of: second))
        for index in one.indices.dropFirst() { #expect(one[index] != other[index]) }
        let left = try FileManager.default.contentsOfDirectory(atPath: old.keychain.path)
        #expect(!left.contains { $0.hasPrefix("export") || $0 == "import" }, "\(left)")
    }

    private static func fingers(_ names: String...) -> Enrolment {
        Enrolment(device: "sensor", fingers: names, templateDigest: nil, completions: 0)
    }
}
