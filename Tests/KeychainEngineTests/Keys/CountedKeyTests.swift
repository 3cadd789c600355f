import CBOR
import Crypto
import Foundation
import GRDB
import KeychainEngine
import KeychainModel
import SecretMemory
import Testing

@Suite("A private key whose signatures have their number in what is signed")
struct CountedKeyTests {
    let keychain = TestKeychain()
    /// Computed: the leak sanitizer does not see the arrays of such a value in static memory.
    private static var use: KeyUse { .signCounted(before: [1, 2, 3], after: [9, 8]) }

    /// Signs, and returns the number after it was verified to be the one that was signed.
    private func number(
        _ key: EnclaveKey,
        _ engine: KeychainEngine,
        group: AccessGroup = .ours,
        proofs: [AuthenticationProof] = []
    ) async throws -> UInt32 {
        let result = try await engine.result(key, Self.use, group: group, proofs: proofs)
        #expect(result.count == 68)
        let counted = result.prefix(4)
        let isSigned = try P256.Signing.PublicKey(x963Representation: key.publicKey).isValidSignature(
            P256.Signing.ECDSASignature(rawRepresentation: result.dropFirst(4)),
            for: SHA256.hash(data: [1, 2, 3] + counted + [9, 8])
        )
        #expect(isSigned, "the number that is returned is the one that was signed")
        return counted.reduce(0) { $0 << 8 | UInt32($1) }
    }

    @Test("the numbers grow by one, also after a lock and a restart, and each key has its own")
    func grows() async throws {
        var engine: KeychainEngine? = try await keychain.setUp().0
        let limits = try KeyLimits(isCounted: true)
        let key = try await engine.required.makeKey(.privateKeyUsage, limits: limits)
        let other = try await engine.required.makeKey(.privateKeyUsage, limits: limits)
        #expect(key.isCounted && key.usesLeft == nil)
        #expect(try await engine.required.key(key.representation, groups: [.ours]) == key)
        #expect(try await number(key, engine.required) == 1)
        #expect(try await number(key, engine.required) == 2)
        await engine?.lock()
        _ = try await engine.required.key(TestKeychain.passcode)
        #expect(try await number(key, engine.required) == 3)
        try await keychain.restart(&engine)
        #expect(try await number(key, engine.required) == 4)
        #expect(try await number(other, engine.required) == 1)
        let report = await engine.required.check()
        #expect(report.isSetAuthentic && report.damaged == 0 && report.items == 0, "\(report)")
    }

    @Test("programs that sign at once get different numbers, none of them twice")
    func race() async throws {
        let (engine, _) = try await keychain.setUp()
        let key = try await engine.makeKey(.privateKeyUsage, limits: try KeyLimits(isCounted: true))
        let numbers = try await withThrowingTaskGroup(of: UInt32.self) { group in
            for _ in 0..<16 { group.addTask { try await number(key, engine) } }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(numbers.sorted() == Array(1...16))
    }

    @Test("it makes no other signature and no shared secret, other keys none with a number; nobody is asked")
    func otherUses() async throws {
        let (engine, passcode) = try await keychain.setUp()
        let flags: AccessControlFlags = [.devicePasscode, .privateKeyUsage]
        let key = try await engine.makeKey(flags, limits: try KeyLimits(isCounted: true))
        let plain = try await engine.makeKey(flags, limits: try KeyLimits(uses: 9))
        #expect(!plain.isCounted)
        for use in [
            .sign(digest: Letter.digest), .agree(publicKey: plain.publicKey),
            .decrypt(publicKey: plain.publicKey),
        ] as [KeyUse] {
            await #expect(throws: KeychainError(.param), "\(use)") { try await engine.result(key, use) }
        }
        await #expect(throws: KeychainError(.param)) { try await engine.result(plain, Self.use) }
        await #expect(throws: NeedsAuthentication.self) { try await engine.result(key, Self.use) }
        let proof = Proofs.of(key.accessControl, [.passcode], key: passcode, operation: .useKeySign)
        #expect(try await number(key, engine, proofs: [proof]) == 1, "what is refused is not counted")
    }

    @Test("a message that is too long is refused and not counted, the longest is signed")
    func long() async throws {
        let (engine, _) = try await keychain.setUp()
        let key = try await engine.makeKey(.privateKeyUsage, limits: try KeyLimits(isCounted: true))
        let longest = [UInt8](repeating: 5, count: KeyUse.longestPart)
        for use in [
            .signCounted(before: longest + [1], after: []), .signCounted(before: [], after: longest + [1]),
        ] as [KeyUse] {
            await #expect(throws: KeychainError(.param)) { try await engine.result(key, use) }
        }
        let signed = try await engine.result(key, .signCounted(before: longest, after: longest))
        #expect(signed.prefix(4) == [0, 0, 0, 1])
    }

    @Test("a signature that fails after it was counted only skips a number")
    func interrupted() async throws {
        let isFailing = Guarded(false)
        let hardware = ScriptedHardware(before: { () throws(KeychainError) in
            if isFailing.withLock(\.self) { throw KeychainError(.internalComponent) }
        })
        let engine = try await keychain.setUp(privateKeys: hardware)
        let key = try await engine.makeKey(.privateKeyUsage, limits: try KeyLimits(isCounted: true))
        #expect(try await number(key, engine) == 1)
        isFailing.withLock { $0 = true }
        await #expect(throws: KeychainError(.internalComponent)) { try await number(key, engine) }
        isFailing.withLock { $0 = false }
        #expect(try await number(key, engine) == 3)
    }

    @Test("with a number of uses it signs so often, and its number is that of the use")
    func limited() async throws {
        let (engine, _) = try await keychain.setUp()
        let limits = try KeyLimits(uses: 2, isCounted: true)
        let key = try await engine.makeKey(.privateKeyUsage, limits: limits)
        #expect(key.isCounted && key.usesLeft == 2)
        #expect(try await [number(key, engine), number(key, engine)] == [1, 2])
        let error = await #expect(throws: KeychainError.self) { try await number(key, engine) }
        #expect(error?.cause == .usedUp)
    }

    @Test("its representation has the format that earlier versions refuse")
    func format() async throws {
        let (engine, _) = try await keychain.setUp()
        let key = try await engine.makeKey(.privateKeyUsage, limits: try KeyLimits(isCounted: true))
        #expect(key.representation.first == 2, "earlier versions refuse it")
        let plain = try await engine.makeKey(.privateKeyUsage)
        #expect(plain.representation.first == 1)
    }

    @Test("a deleted one signs no more, also from a copy of its representation")
    func deleted() async throws {
        let (engine, _) = try await keychain.setUp()
        let key = try await engine.makeKey(.privateKeyUsage, limits: try KeyLimits(isCounted: true))
        try await engine.add("key", attributes: [.namedKeys: .keys([key.representation])])
        #expect(try await number(key, engine) == 1)
        #expect(try await engine.delete("key") == 1)
        let error = await #expect(throws: KeychainError.self) { try await number(key, engine) }
        #expect(error?.cause == .deleted)
    }

    @Test("a count that was put back behind the daemon's back is refused, and gives no number twice")
    func forged() async throws {
        var engine: KeychainEngine? = try await keychain.setUp().0
        let key = try await engine.required.makeKey(.privateKeyUsage, limits: try KeyLimits(isCounted: true))
        #expect(try await number(key, engine.required) == 1)
        await engine?.close()
        engine = nil
        func edit<R>(_ body: (Database) throws -> R) throws -> R {
            let queue = try DatabaseQueue(path: keychain.file("items.sqlite"))
            defer { unsafe chmod(keychain.file("items.sqlite"), 0o600) }
            let result = try queue.writeWithoutTransaction(body)
            try queue.close()
            return result
        }
        let former = try #require(
            try edit { try Row.fetchOne($0, sql: "SELECT attributes, keys FROM items") }
        )
        engine = try await keychain.restart()
        #expect(try await number(key, engine.required) == 2)
        await engine?.close()
        engine = nil
        try edit {
            try $0.execute(
                sql: "UPDATE items SET attributes = ?, keys = ?",
                arguments: StatementArguments(Array(former.databaseValues))
            )
        }
        let later = try await keychain.restart()
        await #expect(throws: KeychainError.self) { try await number(key, later) }
        await later.close()
    }

    @Test("limits have one encoding, with and without counted signatures")
    func encoding() throws {
        for limits in [
            try KeyLimits(isCounted: true), try KeyLimits(starts: 1, ends: 9, uses: 2, isCounted: true),
            try KeyLimits(uses: 3),
        ] {
            var writer = CBORWriter([UInt8]())
            limits.encode(to: &writer)
            let bytes = writer.finish()
            #expect(bytes.first == (limits.isCounted ? 0x84 : 0x83))
            #expect(try CBORReader.read(bytes) { try KeyLimits(from: &$0) } == limits)
            guard limits.isCounted else { continue }
            let denied = Array(bytes.dropLast()) + [0xF4]
            #expect(throws: WireError.malformed) { try CBORReader.read(denied) { try KeyLimits(from: &$0) } }
        }
    }
}
