import Crypto
import Foundation
import KeychainModel
import SecretMemory
import Testing
import TouchstoneTesting

@testable import KeychainEngine

/// A keychain that the program made when its present formats were new, and every later program has to open.
///
/// With `TOUCHSTONE_WRITE_GOLDEN=1` a fixture that does not exist yet is made, by the program itself; one that exists is
/// never replaced. A new version of a format needs a new fixture, and the former one a suite like ``FormerKeybagTests``.
@Suite("A keychain of today's formats, kept since they were new, opens with all it has")
struct CurrentFormatTests {
    private static let isMaking = ProcessInfo.processInfo.environment["TOUCHSTONE_WRITE_GOLDEN"] == "1"
    private static let fixture = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .appendingPathComponent("Fixtures/store-\(ItemSchema.version)-keybag-\(KeybagRecord.version)")
    private static let appPassword = "app password"
    private static let digest = SHA256.hash(data: Data("message".utf8))

    /// An item for each way of opening.
    private struct Guarded: Sendable {
        let name: String
        let flags: AccessControlFlags
        let factors: Set<AuthenticationFactor>

        func control() throws -> AccessControl {
            try AccessControl(accessibility: .whenUnlocked, flags: flags)
        }
    }

    private static let guarded: [Guarded] = [
        Guarded(name: "passcode", flags: .devicePasscode, factors: [.passcode]),
        Guarded(name: "any finger", flags: .biometryAny, factors: [.biometry]),
        Guarded(name: "the set", flags: .biometryCurrentSet, factors: [.biometry]),
        Guarded(name: "presence by passcode", flags: .userPresence, factors: [.passcode]),
        Guarded(name: "presence by finger", flags: .userPresence, factors: [.biometry]),
        Guarded(
            name: "both",
            flags: [.biometryCurrentSet, .and, .devicePasscode],
            factors: [.biometry, .passcode]
        ),
        Guarded(name: "either", flags: [.biometryAny, .or, .devicePasscode], factors: [.passcode]),
        Guarded(name: "app password", flags: .applicationPassword, factors: []),
        Guarded(
            name: "app password and finger",
            flags: [.applicationPassword, .biometryAny],
            factors: [.biometry]
        ),
    ]
    private static let signing: AccessControlFlags = [.privateKeyUsage, .biometryAny]

    private static func password(_ item: Guarded) -> ApplicationPassword? {
        item.flags.contains(.applicationPassword) ? ApplicationPassword(.text(appPassword)) : nil
    }

    private static func start(_ keychain: TestKeychain) throws -> KeychainEngine {
        let directory = try StoreDirectory(path: keychain.path)
        return try KeychainEngine(
            directory: directory,
            sealer: DeviceSealer(file: FileKeySealer(directory: directory), hardware: nil),
            derivation: .test,
            audit: keychain.audit
        )
    }

    private static func make() async throws {
        let keychain = TestKeychain()
        let engine = try start(keychain)
        let code = try engine.makeRecoveryCode()
        let codeText = code.withOctets { span in span.indices.map { span[$0] } }
        try await engine.setUp(
            passcode: .text(TestKeychain.passcode),
            recoveryCode: code,
            enrolled: TestKeychain.enrolled
        )
        _ = try await engine.key(TestKeychain.passcode)
        for accessibility in Accessibility.allCases {
            let name = accessibility.rawValue
            try await engine.add(name, "secret \(name)", AccessControl(accessibility: accessibility))
        }
        for item in guarded {
            try await engine.add(item.name, "by \(item.name)", try item.control(), password: password(item))
        }
        for name in ["deleted", "changed"] { try await engine.add(name, "first") }
        #expect(try await engine.delete("deleted") == 1)
        #expect(try await engine.update("changed", secret: "second") == .updated(1))
        let control = try AccessControl(accessibility: .whenUnlocked, flags: signing)
        let key = try await engine.makeKey(control, group: .ours, applicationPassword: nil)
        await engine.close()
        let files = FileManager.default
        try files.createDirectory(at: fixture, withIntermediateDirectories: true)
        try files.copyItem(atPath: keychain.path, toPath: fixture.path + "/store")
        try Data(codeText).write(to: fixture.appendingPathComponent("recovery-code"))
        try Data(key.representation).write(to: fixture.appendingPathComponent("private-key"))
        try Data(key.publicKey).write(to: fixture.appendingPathComponent("public-key"))
    }

    /// A copy of the fixture, and its recovery code.
    private func kept() async throws -> (TestKeychain, code: String) {
        let keychain = TestKeychain()
        let files = FileManager.default
        try files.copyItem(atPath: Self.fixture.path + "/store", toPath: keychain.path)
        unsafe chmod(keychain.path, 0o700)
        for name in try files.contentsOfDirectory(atPath: keychain.path) {
            unsafe chmod(keychain.file(name), 0o600)
        }
        return (keychain, try String(contentsOfFile: Self.fixture.path + "/recovery-code", encoding: .utf8))
    }

    private func expectAll(_ engine: KeychainEngine, _ key: PasscodeKey) async throws {
        for accessibility in Accessibility.allCases {
            let name = accessibility.rawValue
            #expect(try await engine.secret(name) == "secret \(name)")
        }
        #expect(try await engine.secret("changed") == "second")
        await #expect(throws: KeychainError(.itemNotFound)) { try await engine.secret("deleted") }
        #expect(try await engine.observe(TestKeychain.enrolled).changed == false)
        for item in Self.guarded {
            let proof = Proofs.of(try item.control(), item.factors, key: key)
            let found = try await engine.all(
                [.account: .string(item.name)],
                proofs: item.factors.isEmpty ? [] : [proof],
                password: Self.password(item)
            )
            #expect(found.first?.text == "by \(item.name)")
        }
        try await expectKey(engine)
        let report = await engine.check()
        #expect(report.isSetAuthentic && report.damaged == 0 && report.faults.isEmpty, "\(report)")
        #expect(report.items == Accessibility.allCases.count + Self.guarded.count + 1)
    }

    private func expectKey(_ engine: KeychainEngine) async throws {
        let control = try AccessControl(accessibility: .whenUnlocked, flags: Self.signing)
        let proof = Proofs.of(control, [.biometry], operation: .useKeySign)
        let outcome = try await engine.use(
            Array(try Data(contentsOf: Self.fixture.appendingPathComponent("private-key"))),
            for: .sign(digest: Array(Self.digest)),
            groups: [.ours],
            authorization: ItemAuthorization(proofs: [proof])
        )
        guard case .done(let signature) = consume outcome else {
            Issue.record("the private key is not released")
            return
        }
        let raw = signature.withOctets { span in span.indices.map { span[$0] } }
        let publicKey = try P256.Signing.PublicKey(
            x963Representation: try Data(contentsOf: Self.fixture.appendingPathComponent("public-key"))
        )
        let isValid = publicKey.isValidSignature(
            try P256.Signing.ECDSASignature(rawRepresentation: raw),
            for: Self.digest
        )
        #expect(isValid)
    }

    @Test("each format has a fixture of its present version")
    func exists() async throws {
        if Self.isMaking, !FileManager.default.fileExists(atPath: Self.fixture.path) {
            try await Self.make()
            Issue.record("\(Self.fixture.lastPathComponent) was made; look at it and keep it")
        }
        let (keychain, _) = try await kept()
        let number = try keychain.octets("items.sqlite")[60..<64].reduce(0) { $0 << 8 | UInt32($1) }
        #expect(ItemSchema.version(of: number) == ItemSchema.version)
        let reading = try KeybagFile(in: StoreDirectory(path: keychain.path)).read()
        #expect(reading.isInStep && !reading.isFaulty && reading.intact?.isUnsealed == false)
    }

    @Test("the passcode opens it, twice, and it accepts changes")
    func opens() async throws {
        let (keychain, _) = try await kept()
        for round in 0..<2 {
            let engine = try Self.start(keychain)
            let key = try await engine.key(TestKeychain.passcode)
            try await expectAll(engine, key)
            try await engine.add("new")
            #expect(try await engine.delete("new") == 1, "\(round)")
            await engine.close()
        }
        #expect(!keychain.audit.kinds.contains(.tamperDetected))
    }

    @Test("the recovery code opens it")
    func recovers() async throws {
        let (keychain, code) = try await kept()
        let engine = try Self.start(keychain)
        try await engine.recover(code: .text(code), newPasscode: .text("a new passcode"))
        try await expectAll(engine, try await engine.key("a new passcode"))
        await engine.close()
    }
}
