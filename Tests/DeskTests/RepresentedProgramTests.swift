import AuthenticationEngine
import Desk
import KeychainModel
import SecretMemory
import Synchronization
import Testing
import TouchstoneTesting

private let doorPath = "/usr/libexec/touchstone/touchstone-secrets"

/// The door of the Secret Service at the desk: whom it may name, what it may call, whose items it sees.
@Suite("A door that asks for other programs", .timeLimit(.minutes(5)))
struct RepresentedProgramTests {
    private let world: DeskWorld
    private let identity: ClientIdentity

    init() async throws {
        world = try DeskWorld()
        identity = ClientIdentity(ownProgram: DeskWorld.command, doorProgram: doorPath)
        try await world.setUp()
    }

    private func arrival(of program: String?, _ role: AskerRole = .app) -> Visit {
        let asker = identity.asker(
            uid: 1000,
            pid: 100,
            processStart: 1,
            program: program,
            role: role,
            isStill: { true }
        )
        return world.desk.visit(by: asker)
    }

    private func named(_ program: String?, isStill: (@Sendable () -> Bool)? = { true }) -> Asker {
        let look =
            program.map {
                ProgramLook(
                    processStart: 7,
                    program: RunningProgram(ProgramFile(path: $0, inode: 12), isStill: isStill ?? { true })
                )
            } ?? .nothing
        return identity.represented(uid: 1000, pid: 4711, look)
    }

    /// A visit that asks for a program.
    private func door(for program: String? = "/usr/bin/secret-tool") throws -> Visit {
        let visit = arrival(of: doorPath)
        try visit.represent(named(program))
        return visit
    }

    private func add(_ account: String, in group: AccessGroup? = nil) -> AddItem {
        var attributes: ItemAttributes = [.service: .string("login"), .account: .string(account)]
        if let group { attributes[.accessGroup] = .string(group.name) }
        return AddItem(
            itemClass: .genericPassword,
            attributes: attributes,
            accessControl: AccessControl(accessibility: .afterFirstUnlock),
            data: SecretBytes(copying: Array("secret".utf8)),
            prompt: PromptFields()
        )
    }

    private func count(_ visit: Visit, in group: AccessGroup? = nil) async throws(KeychainError) -> Int {
        var query = ItemQuery(itemClass: .genericPassword, limit: .all, returns: .attributes)
        if let group { query.attributes[.accessGroup] = .string(group.name) }
        var found = 0
        do throws(KeychainError) {
            _ = try await visit.copy(CopyItems(query: query, prompt: PromptFields()), request: 1) { page, _ in
                found += page.count
                return true
            }
        } catch {
            guard error.status != .itemNotFound else { return 0 }
            throw error
        }
        return found
    }

    @Test("only the program at its path, or of its group, may name another, and once")
    func whoMay() throws {
        for (visit, may) in [
            (arrival(of: doorPath), true), (arrival(of: nil, .door), true),
            (arrival(of: "/usr/bin/app"), false),
            (arrival(of: DeskWorld.command), false), (arrival(of: nil), false),
            (arrival(of: doorPath + "2"), false),
            (arrival(of: nil, .agent), false),
        ] {
            #expect(visit.admits(.represent) == may)
            let result = Result { () throws(KeychainError) in
                try visit.represent(named("/usr/bin/secret-tool"))
            }
            #expect(((try? result.get()) != nil) == may)
            #expect(visit.caller.door == (may ? .secretService : nil))
            #expect(throws: KeychainError(.missingEntitlement)) {
                try visit.represent(named("/usr/bin/other"))
            }
            visit.end()
        }
    }

    @Test(
        "it may call the methods for items, and no others; before it named a program, a door of the group calls none"
    )
    func methods() throws {
        let open: Set<Method> = [
            .hello, .cancel, .represent, .addItem, .copyItems, .updateItems, .deleteItems, .replaceItem,
            .evaluatePolicy, .evaluateAccessControl, .invalidateContext, .status, .unlock, .watch,
        ]
        let (named, unnamed) = (try door(), arrival(of: nil, .door))
        for method in Method.allCases {
            #expect(named.admits(method) == open.contains(method), "\(method)")
            #expect(unnamed.admits(method) == open.contains(method), "\(method)")
        }
        named.end()
        unnamed.end()
    }

    @Test(
        "it sees the items of the Secret Service alone, whatever its own and the named program's groups are"
    )
    func groups() async throws {
        let (app, command, door) = (
            arrival(of: "/usr/bin/secret-tool"), arrival(of: DeskWorld.command), try door()
        )
        _ = try await app.add(add("app's"), request: 1)
        _ = try await command.add(add("command's"), request: 1)
        _ = try await door.add(add("door's"), request: 1)
        #expect(try await count(door) == 1)
        #expect(try await count(app) == 1)
        #expect(try await count(command) == 1)
        // The command has to name the group, and no other program may.
        #expect(try await count(command, in: .secretService) == 1)
        await #expect(throws: KeychainError(.missingEntitlement)) { try await count(app, in: .secretService) }
        for group in ["/usr/bin/secret-tool", doorPath, NamedKey.group.name, ClientIdentity.ownGroup] {
            let group = try #require(AccessGroup(group))
            await #expect(throws: KeychainError(.missingEntitlement)) { try await count(door, in: group) }
            await #expect(throws: KeychainError(.missingEntitlement)) {
                _ = try await door.add(add("x", in: group), request: 2)
            }
        }
        for visit in [app, command, door] { visit.end() }
    }

    @Test("the named program is in the box, and has no name once its process runs another program")
    func named() async throws {
        let isStill = Atomic(true)
        let visit = arrival(of: doorPath)
        try visit.represent(named("/usr/bin/secret-tool") { isStill.load(ordering: .acquiring) })
        #expect(visit.caller.displayName == "the Secret Service, for /usr/bin/secret-tool (process 4711)")
        #expect(visit.caller.processStart == 7)
        world.prompter.will(.type(DeskWorld.passcode))
        _ = try await visit.evaluate(
            EvaluatePolicy(policy: 2, context: 1, reuseSeconds: 0, prompt: PromptFields(reason: "Read.")),
            request: 1
        )
        #expect(world.prompter.boxes.last?.requester == visit.caller.displayName)
        isStill.store(false, ordering: .releasing)
        #expect(!visit.checkAsker())
        #expect(visit.caller.displayName == "the Secret Service, for an unknown program")
        // Its items are those of the Secret Service all the same.
        #expect(try await count(visit) == 0)
        visit.end()
    }

    @Test(
        "a manifest can grant no door's group",
        arguments: ["org.freedesktop.secrets", "org.freedesktop.other"]
    )
    func manifest(_ group: String) {
        var manifest = AccessGroupManifest()
        #expect(throws: AccessGroupManifest.Fault.self) { try manifest.add("[\(group)]\n/usr/bin/app\n") }
        #expect(manifest.groups(of: "/usr/bin/app").isEmpty)
    }
}
