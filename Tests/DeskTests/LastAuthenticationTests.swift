import Desk
import KeychainModel
import Testing
import TouchstoneTesting

/// The cells: the program itself and another process of it, another program, the command, an unknown program, one that could
/// not be looked up, a program that took over the channel; locked again.
@Suite("Who is told of the last authentication", .timeLimit(.minutes(20)))
struct LastAuthenticationTests {
    private static let prompt = PromptFields(origin: PromptOrigin(terminal: "/dev/pts/0"), reason: "a test")

    private func unlocked(_ visit: Visit, in world: DeskWorld) async throws {
        try await visit.lock()
        world.prompter.will(.type(DeskWorld.passcode))
        try await visit.unlock(Self.prompt)
    }

    private func told(_ visit: Visit) async throws -> [String] {
        try await visit.lastAuthentications().authentications.map { "\($0.factor) \($0.group.name)" }
    }

    @Test("the program that the prompt named and the command; no other")
    func programs() async throws {
        let world = try DeskWorld()
        try await world.setUp()
        let app = world.desk.visit(by: DeskWorld.asker("/usr/bin/app"))
        let command = world.desk.visit(by: DeskWorld.asker(DeskWorld.command))
        for visit in [app, command] {
            #expect(try await told(visit).isEmpty, "setting up is no authentication")
        }
        try await unlocked(app, in: world)
        let boxes = world.prompter.boxes.count
        let again = world.desk.visit(by: DeskWorld.asker("/usr/bin/app"))
        let other = world.desk.visit(by: DeskWorld.asker("/usr/bin/other"))
        #expect(try await told(app) == ["passcode /usr/bin/app"])
        #expect(try await told(again) == ["passcode /usr/bin/app"])
        #expect(try await told(other).isEmpty)
        #expect(try await told(command) == ["passcode /usr/bin/app"])
        try await app.lock()
        #expect(try await told(app) == ["passcode /usr/bin/app"], "locked again")
        #expect(world.prompter.boxes.count == boxes, "nobody is asked")
        try await unlocked(other, in: world)
        #expect(try await told(app) == ["passcode /usr/bin/app"])
        #expect(try await told(command) == ["passcode /usr/bin/other"])
    }

    @Test("unknown programs are told of none, also of their own; one that was not looked up gets an error")
    func unknown() async throws {
        let world = try DeskWorld()
        try await world.setUp()
        let identity = ClientIdentity(ownProgram: DeskWorld.command)
        func visit(_ program: String?, fault: DriverCause? = nil, isStill: Bool = true) -> Visit {
            world.desk.visit(
                by: identity.asker(
                    uid: 1000,
                    pid: 1,
                    processStart: 1,
                    program: program,
                    fault: fault,
                    isStill: { isStill }
                )
            )
        }
        let unknown = visit(nil)
        try await unlocked(unknown, in: world)
        #expect(try await told(unknown).isEmpty)
        #expect(try await told(visit("/usr/bin/app", isStill: false)).isEmpty, "another program came")
        let unseen = visit(nil, fault: DriverCause(domain: "broker", code: "gone"))
        let error = await #expect(throws: KeychainError.self) { try await unseen.lastAuthentications() }
        #expect(error?.status == .notAvailable)
    }
}
