import Desk
import Glibc
import KeychainModel
import SecretMemory
import Testing
import TouchstoneTesting

/// The cells: the command, another program, one that another has taken the place of; group named, not named; look up, use, change;
/// a key for any use, for certain hosts, deleted.
@Suite("Named keys by programs that ask by themselves", .timeLimit(.minutes(20)))
struct NamedKeyTests {
    private let world: DeskWorld
    private static let digest = [UInt8](repeating: 7, count: 32)

    init() async throws {
        world = try DeskWorld()
        try await world.setUp()
    }

    @discardableResult
    private func makeKey(
        _ name: String = "work",
        _ flags: AccessControlFlags = [.devicePasscode, .privateKeyUsage],
        for hosts: [NamedKey.Host] = []
    ) async throws -> NamedKey {
        let command = world.desk.visit(by: DeskWorld.asker(DeskWorld.command))
        defer { command.end() }
        let rule = try AccessControl(accessibility: .whenUnlockedThisDeviceOnly, flags: flags)
        let made = try await command.makeKey(
            MakeKey(accessControl: rule, group: NamedKey.group, prompt: PromptFields()),
            request: 1
        )
        let key = NamedKey(name: name, key: made, hosts: hosts)
        _ = try await command.add(Self.item(key), request: 2)
        return key
    }

    private static func item(_ key: NamedKey) -> AddItem {
        AddItem(
            itemClass: .genericPassword,
            attributes: key.attributes,
            accessControl: AccessControl(accessibility: .afterFirstUnlockThisDeviceOnly),
            data: nil,
            prompt: PromptFields()
        )
    }

    private func names(_ query: ItemQuery, by visit: Visit) async throws -> [String] {
        let names = Guarded<[String]>([])
        _ = try await visit.copy(CopyItems(query: query, prompt: PromptFields()), request: 1) { page, _ in
            let keys = page.namedKeys()
            names.withLock { $0 += keys.map(\.name) }
            return true
        }
        return names.withLock { $0 }
    }

    private func use(
        _ key: NamedKey,
        _ use: KeyUse = .sign(digest: Self.digest),
        by visit: Visit,
        context: UInt64? = nil
    ) async throws -> Int {
        let prompt = PromptFields(
            origin: PromptOrigin(terminal: "/dev/pts/0"),
            reason: "Show your mail.",
            details: PromptDetails(title: "Mail", items: ["Nothing is signed."]),
            cancelTitle: "Later",
            fallbackTitles: ["Show"]
        )
        let request = UseKey(representation: key.representation, use: use, context: context, prompt: prompt)
        return try await visit.useKey(request, request: 9).count
    }

    private func app() -> Visit { world.desk.visit(by: DeskWorld.asker()) }

    @Test("a program finds them if its request names the group, and only then")
    func lookUp() async throws {
        try await makeKey()
        let visit = app()
        #expect(try await names(NamedKey.all, by: visit) == ["work"])
        let everything = ItemQuery(itemClass: .genericPassword, limit: .all, returns: .attributes)
        await #expect(throws: KeychainError(.itemNotFound)) { try await names(everything, by: visit) }
    }

    @Test("a use asks once for itself, in words of the daemon's, whatever the program says")
    func wording() async throws {
        let key = try await makeKey("work' for 'mail")
        let visit = app()
        for count in 1...2 {
            world.prompter.will(.type(DeskWorld.passcode))
            let before = world.prompter.boxes.count
            #expect(try await use(key, by: visit) == 64, "use \(count)")
            #expect(world.prompter.boxes.count == before + 1)
            let box = try #require(world.prompter.boxes.last)
            #expect(box.requester.hasPrefix("/usr/bin/app (process"))
            #expect(box.reason == "Sign with the key 'work? for ?mail'.")
            #expect(box.details == PromptDetails(items: ["What for, and for which host, is not known."]))
            #expect(box.cancelTitle == nil && box.fallbackTitles?.contains("Show") != true)
        }
        world.prompter.will(.type(DeskWorld.passcode))
        #expect(try await use(key, .agree(publicKey: key.publicKey), by: visit) == 32)
        #expect(world.prompter.boxes.last?.reason == "Agree on a secret with the key 'work? for ?mail'.")
    }

    @Test("an authentication in the program's own context, under its own words, counts for no use")
    func ownContext() async throws {
        let key = try await makeKey()
        let visit = app()
        world.prompter.will(.type(DeskWorld.passcode))
        let rule = try AccessControl(
            accessibility: .whenUnlockedThisDeviceOnly,
            flags: [.devicePasscode, .privateKeyUsage]
        )
        _ = try await visit.evaluate(
            EvaluateAccessControl(
                accessControl: rule,
                operation: Int64(AccessOperation.useKeySign.rawValue),
                context: 5,
                reuseSeconds: 60,
                prompt: PromptFields(origin: PromptOrigin(terminal: "/dev/pts/0"), reason: "Show your mail.")
            ),
            request: 1
        )
        let before = world.prompter.boxes.count
        world.prompter.will(.cancel)
        await #expect(throws: KeychainError(.userCanceled)) { try await use(key, by: visit, context: 5) }
        #expect(world.prompter.boxes.count == before + 1)
    }

    @Test("a cancelled box and a place without one refuse the use")
    func refused() async throws {
        let key = try await makeKey()
        let visit = app()
        world.prompter.will(.cancel)
        await #expect(throws: KeychainError(.userCanceled)) { try await use(key, by: visit) }
        let silent = UseKey(
            representation: key.representation,
            use: .sign(digest: Self.digest),
            prompt: PromptFields(interactionAllowed: false)
        )
        await #expect(throws: KeychainError(.interactionNotAllowed)) {
            try await visit.useKey(silent, request: 2).count
        }
    }

    @Test("a key without a rule signs without a box, for any program")
    func free() async throws {
        let key = try await makeKey("free", [.privateKeyUsage])
        let before = world.prompter.boxes.count
        #expect(try await use(key, by: app()) == 64)
        #expect(world.prompter.boxes.count == before)
    }

    @Test("a key for certain hosts is refused without a box, for it is not known who asks for the signature")
    func hosts() async throws {
        let host = try #require(NamedKey.Host(name: "git.example", fingerprint: "SHA256:abc"))
        let key = try await makeKey("git", [.privateKeyUsage], for: [host])
        let before = world.prompter.boxes.count
        await #expect(throws: KeychainError(.missingEntitlement)) { try await use(key, by: app()) }
        #expect(world.prompter.boxes.count == before)
    }

    @Test("a deleted key, and one without an item, sign for nobody")
    func deleted() async throws {
        let key = try await makeKey("gone", [.privateKeyUsage])
        let command = world.desk.visit(by: DeskWorld.asker(DeskWorld.command))
        _ = try await command.delete(DeleteItems(query: NamedKey.named("gone"), prompt: PromptFields()))
        await #expect(throws: KeychainError(.itemNotFound)) { try await use(key, by: app()) }
        let rule = try AccessControl(accessibility: .whenUnlockedThisDeviceOnly, flags: [.privateKeyUsage])
        let stray = try await command.makeKey(
            MakeKey(accessControl: rule, group: NamedKey.group, prompt: PromptFields()),
            request: 1
        )
        await #expect(throws: KeychainError(.itemNotFound)) {
            try await use(NamedKey(name: "stray", key: stray, hosts: []), by: app())
        }
    }

    @Test("nobody but the command makes, adds, renames, replaces, deletes or attests one")
    func changes() async throws {
        let key = try await makeKey()
        let visit = app()
        let refusal = KeychainError(.missingEntitlement)
        let rule = try AccessControl(accessibility: .whenUnlockedThisDeviceOnly, flags: [.privateKeyUsage])
        await #expect(throws: refusal) {
            try await visit.makeKey(
                MakeKey(accessControl: rule, group: NamedKey.group, prompt: PromptFields()),
                request: 1
            )
        }
        await #expect(throws: refusal) { try await visit.add(Self.item(key), request: 2).count }
        await #expect(throws: refusal) {
            try await visit.update(
                UpdateItems(
                    query: NamedKey.named("work"),
                    attributes: [.account: .string("mine")],
                    accessControl: nil,
                    data: nil,
                    prompt: PromptFields()
                ),
                request: 3
            )
        }
        await #expect(throws: refusal) {
            try await visit.replace(
                ReplaceItem(
                    query: NamedKey.named("work"),
                    itemClass: .genericPassword,
                    attributes: key.attributes,
                    accessControl: AccessControl(accessibility: .afterFirstUnlockThisDeviceOnly),
                    data: nil,
                    prompt: PromptFields()
                ),
                request: 4
            )
        }
        await #expect(throws: refusal) {
            try await visit.delete(DeleteItems(query: NamedKey.named("work"), prompt: PromptFields()))
        }
        await #expect(throws: refusal) {
            try await visit.erase(
                EraseItems(
                    query: NamedKey.named("work"),
                    secret: SecretBytes(copying: [1]),
                    prompt: PromptFields()
                )
            )
        }
        await #expect(throws: KeychainError(.decode)) {
            try await visit.attestKey(
                AttestKey(representation: key.representation, qualifyingData: [], prompt: PromptFields()),
                request: 5
            )
        }
        #expect(try await names(NamedKey.all, by: visit) == ["work"])
    }

    @Test("a program that takes the place of another on its connection has none of them")
    func successor() async throws {
        let key = try await makeKey("free", [.privateKeyUsage])
        let isSame = Guarded(true)
        let asker = ClientIdentity(ownProgram: DeskWorld.command)
            .asker(uid: geteuid(), pid: getpid(), processStart: 1, program: "/usr/bin/app") {
                isSame.withLock { $0 }
            }
        let visit = world.desk.visit(by: asker)
        #expect(try await use(key, by: visit) == 64)
        isSame.withLock { $0 = false }
        await #expect(throws: KeychainError(.missingEntitlement)) { try await names(NamedKey.all, by: visit) }
        await #expect(throws: KeychainError(.decode)) { try await use(key, by: visit) }
    }

    @Test("the command words its own prompts, and other keys of a program are used as before")
    func ownKeys() async throws {
        let named = try await makeKey()
        world.prompter.will(.type(DeskWorld.passcode))
        let command = world.desk.visit(by: DeskWorld.asker(DeskWorld.command))
        #expect(try await use(named, by: command) == 64)
        #expect(world.prompter.boxes.last?.reason == "Show your mail.")
        let visit = app()
        let rule = try AccessControl(
            accessibility: .whenUnlockedThisDeviceOnly,
            flags: [.devicePasscode, .privateKeyUsage]
        )
        let made = try await visit.makeKey(MakeKey(accessControl: rule, prompt: PromptFields()), request: 1)
        world.prompter.will(.type(DeskWorld.passcode))
        #expect(try await use(NamedKey(name: "own", key: made, hosts: []), by: visit) == 64)
        #expect(world.prompter.boxes.last?.reason == "Show your mail.")
        let other = world.desk.visit(by: DeskWorld.asker("/usr/bin/other"))
        await #expect(throws: KeychainError(.decode)) {
            try await use(NamedKey(name: "own", key: made, hosts: []), by: other)
        }
    }
}
