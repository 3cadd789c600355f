import Desk
import KeychainEngine
import KeychainModel
import Testing
import TouchstoneTesting

/// The desk's functions do not depend on the door: tested with one that has two requests (`LineDoor`).
@Suite("A second door to the desk: lines over a pipe", .timeLimit(.minutes(20)))
struct SecondDoorTests {
    @Test("before set-up the error says that there is no keychain")
    func notSetUp() async throws {
        let client = try DeskWorld().lines()
        #expect(try await client.ask("get mail me") == "1 error -25291 notSetUp")
        #expect(try await client.ask("nonsense") == "2 error -909 -")
        client.hangUp()
        #expect(try await client.answer() == "")
    }

    @Test("a look-up unlocks a locked keychain, with another prompt after a wrong passcode")
    func lookUp() async throws {
        let world = try DeskWorld()
        try await world.setUp()
        try await world.add("hello", service: "mail")
        try await world.desk.visit(by: DeskWorld.asker()).lock()
        let before = world.prompter.boxes.count
        world.prompter.will(.type("wrong wrong wrong"), .type(DeskWorld.passcode))
        let client = try world.lines()
        #expect(try await client.ask("get mail me") == "1 item hello")
        #expect(world.prompter.boxes.count == before + 2)
        #expect(world.prompter.boxes[before].requester.hasPrefix("/usr/bin/app"))
        #expect(world.prompter.boxes[before + 1].error?.hasPrefix("Wrong passcode.") == true)
        #expect(try await client.ask("get mail me") == "2 item hello")
        #expect(try await client.ask("get other me") == "3 error -25300 -")
        #expect(world.prompter.boxes.count == before + 2)
        client.hangUp()
    }

    @Test("an unlock applies to all doors, and a cancellation is an error of the call")
    func unlock() async throws {
        let world = try DeskWorld()
        try await world.setUp()
        try await world.add("hello", service: "mail")
        let one = try world.lines()
        let other = try world.lines()
        try await world.desk.visit(by: DeskWorld.asker()).lock()
        world.prompter.will(.cancel)
        #expect(try await one.ask("unlock") == "1 error -128 -")
        #expect(await world.engine.keybag.state() != .unlocked)
        world.prompter.will(.type(DeskWorld.passcode))
        #expect(try await one.ask("unlock") == "2 ok")
        #expect(await world.engine.keybag.state() == .unlocked)
        let boxes = world.prompter.boxes.count
        #expect(try await other.ask("get mail me") == "1 item hello")
        #expect(world.prompter.boxes.count == boxes)
        one.hangUp()
        other.hangUp()
    }

    @Test("a guarded item prompts at each door and each time, and disconnecting removes the prompt")
    func demanding() async throws {
        let world = try DeskWorld()
        try await world.setUp()
        try await world.add("secret", service: "bank", flags: .devicePasscode)
        let before = world.prompter.boxes.count
        for door in 0..<2 {
            let client = try world.lines()
            world.prompter.will(.type(DeskWorld.passcode))
            #expect(try await client.ask("get bank me") == "1 item secret")
            #expect(world.prompter.boxes.count == before + door + 1)
            client.hangUp()
        }
        let leaving = try world.lines()
        leaving.send("get bank me")
        _ = await world.prompter.box(before + 3)
        #expect(world.prompter.visibleCount == 1)
        leaving.hangUp()
        #expect(try await leaving.answer().hasPrefix("1 error"))
        #expect(try await leaving.answer() == "")
        #expect(world.prompter.visibleCount == 0)
    }

    @Test("a program sees only its own items, and is told who owns the others")
    func groups() async throws {
        let world = try DeskWorld()
        try await world.setUp()
        try await world.add("hello", service: "mail", by: DeskWorld.asker("/usr/bin/one"))
        let one = try world.lines(of: DeskWorld.asker("/usr/bin/one"))
        let other = try world.lines(of: DeskWorld.asker("/usr/bin/other"))
        #expect(try await one.ask("get mail me") == "1 item hello")
        #expect(try await other.ask("get mail me") == "1 error -25300 ownedBy: /usr/bin/one")
        one.hangUp()
        other.hangUp()
    }

    @Test("two doors have different visits, and an authentication at one does not count at the other")
    func numbers() async throws {
        let world = try DeskWorld()
        try await world.setUp()
        try await world.add("secret", service: "bank", flags: .devicePasscode)
        let visits = [world.desk.visit(by: DeskWorld.asker()), world.desk.visit(by: DeskWorld.asker())]
        #expect(visits[0].number != visits[1].number)
        let prompt = PromptFields(origin: PromptOrigin(terminal: "/dev/pts/0"), reason: "to test")
        let query = ItemQuery(
            itemClass: .genericPassword,
            attributes: [.service: .string("bank"), .account: .string("me")],
            returns: .data
        )
        let look = CopyItems(query: query, context: 1, prompt: prompt)
        let before = world.prompter.boxes.count
        world.prompter.will(.type(DeskWorld.passcode))
        for request: UInt64 in 1...2 {
            #expect(try await visits[0].copy(look, request: request) { _, _ in true })
        }
        #expect(world.prompter.boxes.count == before + 1)
        world.prompter.will(.cancel)
        await #expect(throws: KeychainError.self) {
            _ = try await visits[1].copy(look, request: 1) { _, _ in true }
        }
        #expect(world.prompter.boxes.count == before + 2)
        for visit in visits { visit.end() }
    }
}
