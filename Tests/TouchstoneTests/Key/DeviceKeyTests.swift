import Crypto
import Foundation
import Glibc
import Security
import Testing
import TouchstoneTesting

@testable import Touchstone

@Suite("Device keys", .timeLimit(.minutes(20)))
struct DeviceKeyTests {
    private let message = Data("challenge".utf8)

    private func verify(_ signature: DeviceSignature, by key: DevicePublicKey) throws -> Bool {
        let key = try P256.Signing.PublicKey(x963Representation: key.x963Representation)
        let raw = try P256.Signing.ECDSASignature(rawRepresentation: signature.rawRepresentation)
        let der = try P256.Signing.ECDSASignature(derRepresentation: signature.derRepresentation)
        return key.isValidSignature(raw, for: message) && key.isValidSignature(der, for: message)
    }

    @Test(
        "a key signs with one prompt each, in software and in a TPM, and is found after a restart",
        arguments: [nil, SoftwareTPM.Chip.blank]
    )
    func signs(chip: SoftwareTPM.Chip?) async throws {
        let tpm = if let chip { try await SoftwareTPM.start(chip) } else { SoftwareTPM?.none }
        let keychain = try await PrivateKeychain.ready(tpm: tpm?.tcti)
        try await keychain.use {
            let before = keychain.prompts
            let made = try await DeviceSigningKey.create("payments", rule: .passcode)
            #expect(made.hardware == .test && made.rule == .passcode && made.expires == nil)
            #expect(keychain.prompts == before, "making asks nobody")
            for _ in 0..<2 {
                let signature = try await made.sign(message, "Pay 12.30 EUR")
                #expect(try verify(signature, by: made.publicKey))
                #expect(signature.assurance.facts == [.keyBound, .perUse, .passcodeUsed])
                #expect(signature.assurance.method == .passcode && signature.assurance.level == .test)
            }
            #expect(keychain.prompts == before + 2, "one prompt, one operation")
            keychain.stop(with: SIGTERM)
            try await keychain.start()
            try keychain.unlock()
            let found = try await DeviceSigningKey.find("payments")
            #expect(found.publicKey == made.publicKey && found.rule == .passcode)
            #expect(abs(found.created.timeIntervalSince(made.created)) < 0.001)
            #expect(try verify(try await found.sign(message), by: made.publicKey))
            try keychain.tellPerson([.cancels])
            await #expect(throws: TouchstoneError(.userCancelled)) { try await found.sign(message) }
            #expect(try verify(try await found.sign(message), by: made.publicKey))
        }
    }

    @Test("two sides agree on the same key, and swift-crypto derives it too")
    func agrees() async throws {
        let world = try await World()
        try await world.use {
            let mine = try await DeviceAgreementKey.create("chat", rule: .whenUnlocked)
            let theirs = P256.KeyAgreement.PrivateKey()
            let peer = try DevicePublicKey(x963Representation: theirs.publicKey.x963Representation)
            let key = try await mine.sharedKey(
                with: peer,
                info: Data("i".utf8),
                salt: Data("s".utf8),
                byteCount: 48
            )
            let secret = try theirs.sharedSecretFromKeyAgreement(
                with: P256.KeyAgreement.PublicKey(x963Representation: mine.publicKey.x963Representation)
            )
            let expected = secret.hkdfDerivedSymmetricKey(
                using: SHA256.self,
                salt: Data("s".utf8),
                sharedInfo: Data("i".utf8),
                outputByteCount: 48
            )
            #expect(key == expected.withUnsafeBytes { Data($0) })
            for count in [0, -1, 8161] {
                await #expect(throws: TouchstoneError(.limitExceeded)) {
                    try await mine.sharedKey(with: peer, info: Data(), byteCount: count)
                }
            }
            // A whenUnlocked key needs no prompt.
            #expect(world.prompts == 0)
            // Names are per purpose: a signing key of the same name is another key.
            #expect(
                try await DeviceSigningKey.create("chat", rule: .whenUnlocked).publicKey != mine.publicKey
            )
        }
    }

    @Test("a sealed record opens with one prompt, the same context and the same key")
    func seals() async throws {
        let world = try await World()
        try await world.use {
            let key = try await DeviceSealingKey.create("notes", rule: .passcode)
            let other = try await DeviceSealingKey.create("other", rule: .whenUnlocked)
            let context = Data("note 1".utf8)
            for text in ["", "dear diary", String(repeating: "x", count: 100_000)] {
                let record = try await key.seal(Data(text.utf8), context: context)
                #expect(record.count == text.utf8.count + 113)
                #expect(try await key.seal(Data(text.utf8), context: context) != record)
                let before = world.prompts
                #expect(try await key.open(record, context: context, "Open your diary") == Data(text.utf8))
                #expect(world.prompts == before + 1)
            }
            let record = try await other.seal(Data("secret".utf8), context: context)
            for wrong in [Data(), Data("note 2".utf8)] {
                await #expect(throws: TouchstoneError(.damaged)) {
                    try await other.open(record, context: wrong)
                }
            }
            for place in [0, 1, 64, 65, 97, record.count - 1] {
                var changed = record
                changed[place] ^= 1
                await #expect(throws: TouchstoneError(.damaged), "byte \(place)") {
                    try await other.open(changed, context: context)
                }
            }
            await #expect(throws: TouchstoneError(.damaged)) {
                try await other.open(record.dropLast(), context: context)
            }
            await #expect(throws: TouchstoneError(.damaged)) {
                try await other.open(Data(), context: context)
            }
            await #expect(throws: TouchstoneError(.damaged)) { try await key.open(record, context: context) }
            // A slice has other indices.
            #expect(
                try await other.open((Data([1]) + record).dropFirst(), context: context)
                    == Data("secret".utf8)
            )
        }
    }

    @Test("Apple's ECIES opens a record, whose plaintext is preceded by the context's digest")
    func ecies() throws {
        let attributes =
            [kSecAttrKeyType: kSecAttrKeyTypeECSECPrimeRandom, kSecAttrKeySizeInBits: 256] as [CFString: Any]
        let key = try #require(SecKeyCreateRandomKey(attributes as CFDictionary, nil))
        let point =
            try #require(SecKeyCopyPublicKey(key).flatMap { SecKeyCopyExternalRepresentation($0, nil) })
            as Data
        let record = try SealedRecord.seal(
            message,
            to: try DevicePublicKey(x963Representation: point),
            context: Data("c".utf8)
        )
        let opened = SecKeyCreateDecryptedData(
            key,
            .eciesEncryptionStandardVariableIVX963SHA256AESGCM,
            record as CFData,
            nil
        )
        #expect(opened as Data? == Data(SHA256.hash(data: Data("c".utf8))) + message)
    }

    @Test("a name has one key, and absent, existing and expired keys have different codes")
    func life() async throws {
        let world = try await World()
        try await world.use {
            await #expect(throws: TouchstoneError(.notFound)) { try await DeviceSigningKey.find("key") }
            #expect(try await DeviceSigningKey.delete("key") == .wasAbsent)
            let first = try await DeviceSigningKey.create("key", rule: .whenUnlocked)
            await #expect(throws: TouchstoneError(.alreadyExists)) {
                try await DeviceSigningKey.create("key", rule: .passcode)
            }
            #expect(try await DeviceSigningKey.delete("key") == .deleted)
            let second = try await DeviceSigningKey.create("key", rule: .whenUnlocked)
            #expect(try await first.delete() == .wasAbsent, "the one of before does not delete its successor")
            #expect(try await DeviceSigningKey.find("key").publicKey == second.publicKey)
            #expect(try await second.delete() == .deleted)

            let end = Date(timeIntervalSinceNow: 2)
            let short = try await DeviceSigningKey.create("short", rule: .whenUnlocked, expires: end)
            try await Task.sleep(for: .seconds(max(0, end.timeIntervalSinceNow) + 0.01))
            await #expect(throws: TouchstoneError(.expired)) { try await DeviceSigningKey.find("short") }
            await #expect(throws: TouchstoneError(.expired)) { try await short.sign(message) }
            #expect(try await DeviceSigningKey.delete("short") == .deleted)

            await #expect(throws: TouchstoneError(.expired)) {
                try await DeviceSigningKey.create("late", expires: Date())
            }
            for time in [Duration.seconds(301), .seconds(-1)] {
                await #expect(throws: TouchstoneError(.limitExceeded)) {
                    try await DeviceSigningKey.create("reused", rule: .passcode.reusable(for: time))
                }
            }
            await #expect(throws: TouchstoneError(.limitExceeded)) { try await DeviceSigningKey.create("") }
            await #expect(throws: TouchstoneError(.hardwareTooWeak)) {
                try await DeviceSigningKey.create("strong", rule: .whenUnlocked.requiring(.hardware))
            }
            await #expect(throws: TouchstoneError(.notFound)) { try await DeviceSigningKey.find("strong") }
        }
        #expect(throws: TouchstoneError(.typeMismatch)) {
            try DevicePublicKey(x963Representation: Data(repeating: 4, count: 65))
        }
    }

    @Test("an enrolled finger invalidates a fingerprint key, and there is no prompt for it")
    func invalidated() async throws {
        let world = try await World.withFinger()
        try await world.use {
            let key = try await DeviceSigningKey.create("bank")
            try world.touches()
            let signature = try await key.sign(message, "Sign in")
            #expect(signature.assurance.facts == [.keyBound, .perUse, .currentSet])
            #expect(signature.assurance.method == .fingerprint && world.prompts == 1)
            try await world.enrol(["right-index-finger", "left-thumb"])
            await #expect(throws: TouchstoneError(.invalidated)) { try await key.sign(message) }
            await #expect(throws: TouchstoneError(.invalidated)) { try await DeviceSigningKey.find("bank") }
            #expect(world.prompts == 1)
            await #expect(throws: TouchstoneError(.alreadyExists)) {
                try await DeviceSigningKey.create("bank")
            }
            #expect(try await DeviceSigningKey.delete("bank") == .deleted)
        }
        let bare = try await World()
        await bare.use {
            let error = await failure { () throws(TouchstoneError) in
                try await DeviceSigningKey.create("bank")
            }
            #expect(error != nil && error?.code != .alreadyExists, "no finger to bind it to")
        }
    }
}
