import Foundation
import Glibc
import KeychainClient
import KeychainEngine
import KeychainModel
import SecretMemory
import Testing
import TouchstoneTesting

@Suite("Misbehaving clients", .serialized)
struct BypassTests {
    private static func passcodeItem(_ keychain: PrivateKeychain) throws {
        let control = try AccessControl(accessibility: .whenUnlocked, flags: .devicePasscode)
        try keychain.add("guarded", "the guarded secret", control)
    }

    private static func look(
        _ keychain: PrivateKeychain,
        context: UInt64? = nil,
        references: [PersistentReference] = [],
        ui: ItemQuery.AuthenticationUI = .allow,
        interactionAllowed: Bool = false
    ) -> CopyItems {
        var query = keychain.query("guarded")
        query.returns = [.data, .attributes]
        query.authenticationUI = ui
        if !references.isEmpty {
            query = ItemQuery(itemClass: nil, returns: .data, references: references, authenticationUI: ui)
        }
        var prompt = keychain.prompt()
        prompt.interactionAllowed = interactionAllowed
        return CopyItems(query: query, context: context, prompt: prompt)
    }

    /// The secret that a look-up returns, or its error.
    private static func outcome(_ client: RemoteKeychain, _ request: CopyItems) -> Result<
        String?, KeychainError
    > {
        do {
            let results = try client.copy(request)
            let item = results.first()
            guard let data = try item?.copyData() else { return .success(nil) }
            return .success(data.text())
        } catch {
            return .failure(error)
        }
    }

    // Catches a daemon that takes a context's number, or the client's claim, for an authentication.
    @Test("a thousand unauthenticated look-ups never return a secret that requires the passcode")
    func shownNothing() async throws {
        let keychain = try await PrivateKeychain.ready()
        try Self.passcodeItem(keychain)
        // Another connection has entered the passcode.
        let other = RemoteKeychain(layout: keychain.layout, daemon: .none)
        let shown: UInt64 = 7
        _ = try other.evaluatePolicy(
            EvaluatePolicy(policy: 2, context: shown, reuseSeconds: 0, prompt: keychain.prompt())
        )
        let before = keychain.prompts
        let client = RemoteKeychain(layout: keychain.layout, daemon: .none)
        var coins = SplitMix64(seed: 11)
        var released = 0
        var refusals: [Int32: Int] = [:]
        for number in 0..<1000 {
            let request: CopyItems
            switch number % 5 {
            case 0: request = Self.look(keychain)
            case 1: request = Self.look(keychain, context: shown)
            case 2: request = Self.look(keychain, context: .random(in: 0..<1 << 62, using: &coins))
            case 3: request = Self.look(keychain, context: 1 << 63 | UInt64(number), ui: .fail)
            default:
                let octets = (0..<16).map { _ in UInt8.random(in: 0...255, using: &coins) }
                let reference = PersistentReference(octets: octets)
                request = Self.look(keychain, references: [reference].compactMap { $0 }, ui: .skip)
            }
            switch Self.outcome(client, request) {
            case .success: released += 1
            case .failure(let error): refusals[error.status.rawValue, default: 0] += 1
            }
        }
        #expect(released == 0, "\(refusals)")
        #expect(refusals[Status.interactionNotAllowed.rawValue, default: 0] >= 600, "\(refusals)")
        #expect(refusals[Status.itemNotFound.rawValue, default: 0] == 200, "\(refusals)")
        #expect(keychain.prompts == before, "somebody was asked")
        // The authenticated context gets the secret, and so does a new prompt.
        #expect(try Self.outcome(other, Self.look(keychain, context: shown)).get() == "the guarded secret")
        let asked = Self.look(keychain, interactionAllowed: true)
        #expect(try Self.outcome(client, asked).get() == "the guarded secret")
        #expect(keychain.prompts == before + 1)
    }

    // Catches a context in which any authentication counts for every item and operation.
    @Test(
        "an authentication for another operation, in an invalidated context or before a lock does not count"
    )
    func shownForSomethingElse() async throws {
        let keychain = try await PrivateKeychain.ready()
        try Self.passcodeItem(keychain)
        let client = keychain.client
        let control = try AccessControl(accessibility: .whenUnlocked, flags: .devicePasscode)
        func show(_ operation: AccessOperation, _ control: AccessControl, in context: UInt64) throws {
            _ = try client.evaluateAccessControl(
                EvaluateAccessControl(
                    accessControl: control,
                    operation: Int64(operation.rawValue),
                    context: context,
                    reuseSeconds: 0,
                    prompt: keychain.prompt()
                )
            )
        }
        func bringsNothing(_ context: UInt64, _ name: String) {
            let outcome = Self.outcome(client, Self.look(keychain, context: context))
            guard case .failure = outcome else {
                Issue.record("\(name): \(outcome)")
                return
            }
        }
        try show(.useKeySign, control, in: 1)
        bringsNothing(1, "another operation")
        try show(.createItem, control, in: 2)
        bringsNothing(2, "making an item")

        // The same operation counts, until the context is invalidated.
        try show(.useItem, control, in: 3)
        #expect(try Self.outcome(client, Self.look(keychain, context: 3)).get() == "the guarded secret")
        try client.invalidateContext(3)
        bringsNothing(3, "a wiped context")
        try show(.useItem, control, in: 4)
        try client.lock()
        try keychain.unlock()
        bringsNothing(4, "before a lock")
        // Unknown policies show no prompt.
        let before = keychain.prompts
        for policy: Int64 in [0, -1, 3, 99, 1 << 31, .min, .max] {
            let request = EvaluatePolicy(
                policy: policy,
                context: 5,
                reuseSeconds: 300,
                prompt: keychain.prompt()
            )
            #expect(throws: KeychainError.self, "policy \(policy)") { try client.evaluatePolicy(request) }
        }
        #expect(keychain.prompts == before)
        bringsNothing(5, "a policy that is none")
    }

    // Catches access groups that are compared only on add, and references that open any item.
    @Test(
        "another program's items are not found by name, list, group or reference",
        .enabled(if: access(Programs.touchstone, X_OK) == 0, "touchstone is not built")
    )
    func anotherProgram() async throws {
        let keychain = try await PrivateKeychain.ready()
        let log = keychain.home.appending("touchstone.log")
        let environment = [
            "TOUCHSTONE_HOME": keychain.home.path, "HOME": keychain.home.path, "PATH": "/usr/bin:/bin",
        ]
        let set = "printf theirs | \(Programs.touchstone) set mail --require none"
        let theirs = try await ChildProcess.start("/bin/sh", ["-c", set], environment: environment, log: log)
        #expect(try await theirs.waitUntilEnd() == 0)
        // The other program's reference, read from the files.
        let image = try FileImage(of: keychain.layout.dataDirectory)
        let reference = try #require(try await OpenedImage.reference(in: image, group: "touchstone"))

        func found(_ query: ItemQuery) -> KeychainError? {
            do {
                _ = try keychain.client.copy(CopyItems(query: query, prompt: keychain.prompt()))
                return nil
            } catch {
                return error
            }
        }
        let absent = KeychainError(.itemNotFound)
        let named: ItemAttributes = [.service: .string("touchstone"), .account: .string("mail")]
        for returns: ItemQuery.Returns in [.data, .attributes, .persistentRef, []] {
            let limit = ItemQuery.Limit.all
            #expect(
                found(
                    ItemQuery(itemClass: .genericPassword, attributes: named, limit: limit, returns: returns)
                )
                    == absent
            )
            #expect(found(ItemQuery(itemClass: .genericPassword, limit: limit, returns: returns)) == absent)
            #expect(found(ItemQuery(itemClass: nil, returns: returns, references: [reference])) == absent)
            var group = named
            group[.accessGroup] = .string("touchstone")
            #expect(
                found(ItemQuery(itemClass: .genericPassword, attributes: group, returns: returns))
                    == KeychainError(.missingEntitlement)
            )
        }
        let query = ItemQuery(itemClass: nil, references: [reference])
        #expect(throws: absent) {
            try keychain.client.delete(DeleteItems(query: query, prompt: keychain.prompt()))
        }
        // The other program does not find this one's item of the same name.
        try keychain.add("mail", "ours")
        let list = try await ChildProcess.start(
            Programs.touchstone,
            ["get", "mail"],
            environment: environment,
            log: keychain.home.appending("get.log")
        )
        #expect(try await list.waitUntilEnd() == 0)
        #expect(try String(contentsOfFile: keychain.home.appending("get.log"), encoding: .utf8) == "theirs")
    }
}

extension OpenedImage {
    /// The reference of a group's only item.
    static func reference(in image: FileImage, group: String) async throws -> PersistentReference? {
        let home = try TemporaryDirectory()
        let path = home.appending("data")
        try image.write(to: path)
        let engine = try engine(StoreDirectory(path: path))
        let passcode = SecretBytes(copying: Array(PrivateKeychain.passcode.utf8))
        guard case .opened = try await engine.keybag.open(passcode: passcode),
            let group = AccessGroup(group)
        else { return nil }
        let query = ItemQuery(itemClass: .genericPassword, returns: .persistentRef)
        let outcome = try engine.items.copy(
            query,
            groups: [group],
            authorization: ItemAuthorization(),
            after: nil
        )
        guard case .done(let page) = consume outcome else { return nil }
        // A map with one entry, the key 1, and the header of a 16-byte string; then the bytes.
        return page.octets.withOctets { octets in
            octets.count == 19 ? PersistentReference(octets: (3..<19).map { octets[$0] }) : nil
        }
    }
}
