import Glibc
import KeychainClient
import KeychainModel
import SecretMemory
import Testing
import TouchstoneTesting

@Suite("Private keys with a real daemon", .enabled(if: Programs.isBuilt, "touchstoned is not built"))
struct KeyTests {
    private static let digest = [UInt8](repeating: 7, count: 32)

    private static func make(
        _ flags: AccessControlFlags,
        in keychain: PrivateKeychain
    ) throws -> EnclaveKey {
        let control = try AccessControl(accessibility: .whenUnlocked, flags: flags)
        return try keychain.client.makeKey(MakeKey(accessControl: control, prompt: keychain.prompt()))
    }

    private static func use(
        _ key: EnclaveKey,
        for use: KeyUse = .sign(digest: digest),
        context: UInt64? = nil,
        in keychain: PrivateKeychain
    ) throws -> [UInt8] {
        let request = UseKey(
            representation: key.representation,
            use: use,
            context: context,
            prompt: keychain.prompt()
        )
        return try keychain.client.useKey(request).withOctets { octets in octets.indices.map { octets[$0] } }
    }

    @Test("a key works after its user entered the passcode, for that use only, and after a restart")
    func usedByPasscode() async throws {
        let keychain = try await PrivateKeychain.ready()
        let atStart = keychain.prompts
        let guarded = try Self.make([.devicePasscode, .privateKeyUsage], in: keychain)
        let free = try Self.make([], in: keychain)
        #expect(keychain.prompts == atStart)
        #expect(!guarded.isHardware)

        let context = keychain.client.makeContextNumber()
        for _ in 0..<2 {
            #expect(try Self.use(guarded, context: context, in: keychain).count == 64)
            #expect(keychain.prompts == atStart + 1)
        }
        let agreed = try Self.use(
            guarded,
            for: .agree(publicKey: free.publicKey),
            context: context,
            in: keychain
        )
        #expect(keychain.prompts == atStart + 2)
        let there = try Self.use(free, for: .agree(publicKey: guarded.publicKey), in: keychain)
        #expect(agreed == there)
        #expect(agreed.count == 32)
        #expect(keychain.prompts == atStart + 2)

        try keychain.tellPerson([.cancels])
        #expect(throws: KeychainError(.userCanceled)) { try Self.use(guarded, in: keychain) }

        keychain.stop(with: SIGTERM)
        try await keychain.start()
        let before = keychain.prompts
        let read = ReadKey(representation: guarded.representation, prompt: keychain.prompt())
        #expect(try keychain.client.readKey(read) == guarded)
        // The passcode unlocked the keybag for reading; the use prompts once more.
        #expect(try Self.use(guarded, in: keychain).count == 64)
        #expect(keychain.prompts == before + 2)
    }

    @Test("a deleted key does not work on open connections and in contexts that were authenticated")
    func deleted() async throws {
        let keychain = try await PrivateKeychain.ready()
        let key = try Self.make([.devicePasscode, .privateKeyUsage], in: keychain)
        let item = AddItem(
            itemClass: .genericPassword,
            attributes: [.account: .string("key"), .namedKeys: .keys([key.representation])],
            accessControl: AccessControl(accessibility: .afterFirstUnlock),
            data: nil,
            context: nil,
            prompt: keychain.prompt()
        )
        _ = try keychain.client.add(item)
        let other = RemoteKeychain(layout: keychain.layout, daemon: .none)
        let contexts = [keychain.client, other].map { ($0, $0.makeContextNumber()) }
        func use(_ client: RemoteKeychain, _ context: UInt64) throws -> Int {
            let request = UseKey(
                representation: key.representation,
                use: .sign(digest: Self.digest),
                context: context,
                prompt: keychain.prompt()
            )
            return try client.useKey(request).count
        }
        for (client, context) in contexts { #expect(try use(client, context) == 64) }
        let prompts = keychain.prompts
        let query = ItemQuery(itemClass: .genericPassword, attributes: [.account: .string("key")])
        #expect(try other.delete(DeleteItems(query: query, prompt: keychain.prompt())).count == 1)
        for (client, context) in contexts {
            let error = #expect(throws: KeychainError(.itemNotFound)) { try use(client, context) }
            #expect(error?.cause == .deleted)
        }
        #expect(keychain.prompts == prompts)
        let read = ReadKey(representation: key.representation, prompt: keychain.prompt())
        #expect(throws: KeychainError(.itemNotFound)) { try keychain.client.readKey(read) }
        keychain.stop(with: SIGKILL)
        try await keychain.start()
        try keychain.unlock()
        #expect(throws: KeychainError(.itemNotFound)) { try keychain.client.readKey(read) }
    }

    @Test("a key does not work in another keychain")
    func foreign() async throws {
        let (here, there) = (try await PrivateKeychain.ready(), try await PrivateKeychain.ready())
        let key = try Self.make([], in: here)
        #expect(throws: KeychainError(.decode)) { try Self.use(key, in: there) }
    }
}
