import Desk
import KeychainEngine
import KeychainModel
import Testing
import TouchstoneTesting

/// The cells: what accepts a finger alone, a finger or the passcode, both, the passcode; unlocked, locked again, restarted; the
/// program, another one, a moved one; the command, another program.
@Suite("Fingers switched off for a program", .timeLimit(.minutes(20)))
struct FingerSwitchTests {
    private let world: DeskWorld
    private let app: Visit
    private let command: Visit
    private static let appPath = "/usr/bin/app"

    init() async throws {
        world = try DeskWorld()
        try await world.setUp()
        app = world.desk.visit(by: DeskWorld.asker(Self.appPath))
        command = world.desk.visit(by: DeskWorld.asker(DeskWorld.command))
    }

    private static let prompt = PromptFields(origin: PromptOrigin(terminal: "/dev/pts/0"), reason: "a test")

    private func group(_ name: String = FingerSwitchTests.appPath) throws -> AccessGroup {
        try #require(AccessGroup(name))
    }

    private func fingers(_ isAllowed: Bool, of name: String = FingerSwitchTests.appPath) async throws {
        try await command.switchFingers(
            SwitchFingers(group: try group(name), isAllowed: isAllowed, prompt: Self.prompt),
            request: 1
        )
    }

    private func evaluate(
        _ flags: AccessControlFlags,
        by visit: Visit
    ) async throws(KeychainError) -> Set<AuthenticationFactor> {
        let control: AccessControl
        do {
            control = try AccessControl(accessibility: .whenUnlocked, flags: flags)
        } catch {
            throw KeychainError(.param)
        }
        let body = EvaluateAccessControl(
            accessControl: control,
            operation: Int64(AccessOperation.useItem.rawValue),
            context: 7,
            reuseSeconds: 0,
            prompt: Self.prompt
        )
        return try await visit.evaluate(body, request: 9).factors
    }

    private func availability(_ policy: AuthenticationPolicy, by visit: Visit) async throws
        -> AuthenticationError?
    {
        try await visit.availability(of: CanEvaluatePolicy(policy: Int64(policy.rawValue))).error
    }

    /// Expects a refusal without a prompt where a finger is needed, and the passcode where it suffices.
    private func expectOff(_ visit: Visit, _ when: Comment) async throws {
        let boxes = world.prompter.boxes.count
        for flags in [.biometryAny, .biometryCurrentSet, [.biometryAny, .and, .devicePasscode]]
            as [AccessControlFlags]
        {
            let error = await #expect(throws: KeychainError.self, when) {
                try await evaluate(flags, by: visit)
            }
            #expect(error?.authentication?.code == .biometryNotAvailable, when)
            #expect(error?.authentication?.cause?.known == .fingersOff, when)
        }
        #expect(world.prompter.boxes.count == boxes, when)
        #expect(try await availability(.biometrics, by: visit)?.cause?.known == .fingersOff, when)
        #expect(try await availability(.deviceOwner, by: visit) == nil, when)
        for flags in [.userPresence, [.biometryAny, .or, .devicePasscode]] as [AccessControlFlags] {
            world.prompter.will(.type(DeskWorld.passcode))
            #expect(try await evaluate(flags, by: visit) == [.passcode], when)
        }
    }

    @Test("the program gets the passcode's prompt or a refusal, others go on; on again takes the passcode")
    func off() async throws {
        try await fingers(false)
        let boxes = world.prompter.boxes.count
        try await fingers(false)
        #expect(world.prompter.boxes.count == boxes, "nobody is asked")
        try await expectOff(app, "off")
        let other = world.desk.visit(by: DeskWorld.asker("/usr/bin/other"))
        #expect(try await availability(.biometrics, by: other)?.cause?.known != .fingersOff)

        // Locked again, the setting is still known.
        try await app.lock()
        #expect(try await availability(.biometrics, by: app)?.cause?.known == .fingersOff)
        world.prompter.will(.type(DeskWorld.passcode))
        try await app.unlock(Self.prompt)

        world.prompter.will(.cancel)
        await #expect(throws: KeychainError(.userCanceled)) { try await fingers(true) }
        try await expectOff(app, "on again was cancelled")
        world.prompter.will(.type(DeskWorld.passcode))
        try await fingers(true)
        #expect(try await availability(.biometrics, by: app)?.cause?.known != .fingersOff)
        let count = world.prompter.boxes.count
        try await fingers(true)
        #expect(world.prompter.boxes.count == count, "on already")
    }

    @Test("only the command may switch them")
    func foreign() async throws {
        for isAllowed in [true, false] {
            let body = SwitchFingers(group: try group(), isAllowed: isAllowed, prompt: Self.prompt)
            await #expect(throws: KeychainError(.missingEntitlement)) {
                try await app.switchFingers(body, request: 1)
            }
        }
        try await fingers(false)
        // Nor may a program find or delete what holds the choice.
        let query = ItemQuery(itemClass: .genericPassword, limit: .all)
        await #expect(throws: KeychainError(.itemNotFound)) {
            try await app.delete(DeleteItems(query: query, prompt: Self.prompt))
        }
        try await expectOff(app, "still off")
    }

    @Test("it is listed, also without items, and moves with a program's items")
    func moved() async throws {
        try await fingers(false)
        try await fingers(false, of: "/usr/bin/third")
        try await world.add("data", service: "mail", by: DeskWorld.asker(Self.appPath))
        func listed() async throws -> [String: Bool] {
            let owners = try await command.apps().owners
            return Dictionary(uniqueKeysWithValues: owners.map { ($0.group.name, $0.allowsFingers) })
        }
        let before = try await listed()
        #expect(before[Self.appPath] == false && before["/usr/bin/third"] == false)
        world.prompter.will(.type(DeskWorld.passcode))
        let move = MoveItems(
            from: try group(),
            to: try group("/opt/app"),
            isDryRun: false,
            prompt: Self.prompt
        )
        #expect(try await command.move(move, request: 3).count == 1)
        let after = try await listed()
        #expect(after["/opt/app"] == false && after[Self.appPath] == nil)
        try await expectOff(world.desk.visit(by: DeskWorld.asker("/opt/app")), "moved")
    }
}
