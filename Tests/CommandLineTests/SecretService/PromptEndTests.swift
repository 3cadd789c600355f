import Foundation
import Glibc
import KeychainModel
import MessageBus
import ScriptedDaemon
import Testing
import TouchstoneTesting

/// A prompt ends once, whatever ends it, takes its box along, and the next one is shown.
///
/// Ends: the passcode, cancelled by the user, dismissed while it is shown and before, no program that shows boxes, its client gone, the
/// keychain locked, the daemon killed, the door ended and killed, the bus gone; at full size nobody shows it, and nobody answers it.
/// What the machine's sleep, a locked screen and the end of a session end in the daemon is an end as by a lock.
@Suite(
    "The ends of a prompt",
    .enabled(
        if: SecretServiceWorld.isPossible,
        "touchstone-secrets, its daemon and dbus-daemon are not all there"
    ),
    .timeLimit(.minutes(20))
)
struct PromptEndTests {
    private static let prompting = "org.freedesktop.Secret.Prompt"

    private let world: SecretServiceWorld
    private let client: SecretsPeer
    private let item: String

    init() async throws {
        world = try await SecretServiceWorld()
        client = try await world.client()
        item = try await client.create("bank", ["n": "bank"]).item
        // A gesture counts for longer than a busy machine takes.
        let protected = try await world.touchstone(
            "protect",
            "--match",
            "n=bank",
            "--require",
            "passcode",
            "--window",
            "10min"
        )
        try #require(protected.status == 0, "\(protected.errors)")
    }

    /// What boxes do from now on; nil to be answered by the owner.
    private func setBoxes(_ act: ScriptedPinentry.Deed?) throws {
        try ScriptedPinentry.tell(
            act.map { Array(repeating: $0, count: 20) } ?? [],
            home: world.keychain.home.path
        )
    }

    /// A prompt of the client whose box is on the screen, and waits.
    private func shown(to client: SecretsPeer) async throws -> String {
        // A gesture from before counts no more.
        _ = try await client.lock([item])
        try setBoxes(.waits)
        let before = world.keychain.boxes.count
        let prompt = try await client.unlock([item]).prompt
        _ = try await client.call(prompt, Self.prompting, "Prompt", [.string("")])
        try await Deadline.wait(for: "the box") { world.keychain.boxes.count > before ? true : nil }
        #expect(client.received("Completed").allSatisfy { $0.path != prompt })
        return prompt
    }

    /// Expects that the prompt ended once, and that the next one of a client is shown and answered.
    private func expectEnd(of prompt: String, isDismissed: Bool, for client: SecretsPeer) async throws {
        let end = try await client.end(of: prompt)
        #expect(end.isDismissed == isDismissed && end.result.paths == (isDismissed ? [] : [item]))
        try await expectNext(client)
        #expect(client.received("Completed").filter { $0.path == prompt }.count == 1)
        #expect(
            await client.fault(prompt, Self.prompting, "Prompt", [.string("")]) == SecretsPeer.unknownObject
        )
        #expect(await client.fault(prompt, Self.prompting, "Dismiss") == SecretsPeer.unknownObject)
    }

    private func expectNext(_ client: SecretsPeer) async throws {
        try setBoxes(nil)
        let next = try await client.unlock([item])
        let prompt = next.prompt
        if prompt != "/" {
            let end = try await client.show(prompt)
            #expect(!end.isDismissed && end.result.paths == [item])
        }
        #expect(try await client.read(item) == SecretServiceWorld.secret)
    }

    /// What ends a prompt that is shown, and still tells its client.
    enum Ending: String, CaseIterable {
        case passcode
        case cancelled
        case dismissed
        case locked
        case daemonKilled
    }

    @Test("its client is told once", arguments: Ending.allCases)
    func told(_ ending: Ending) async throws {
        switch ending {
        case .passcode, .cancelled:
            try setBoxes(ending == .passcode ? nil : .cancels)
            let prompt = try await client.unlock([item]).prompt
            _ = try await client.call(prompt, Self.prompting, "Prompt", [.string("")])
            return try await expectEnd(of: prompt, isDismissed: ending == .cancelled, for: client)
        case .dismissed:
            let prompt = try await shown(to: client)
            _ = try await client.call(prompt, Self.prompting, "Dismiss")
            try await expectEnd(of: prompt, isDismissed: true, for: client)
        case .locked:
            let prompt = try await shown(to: client)
            #expect(try await world.touchstone("lock").status == 0)
            try await expectEnd(of: prompt, isDismissed: true, for: client)
        case .daemonKilled:
            let prompt = try await shown(to: client)
            try await world.endDaemon(by: SIGKILL)
            try await expectEnd(of: prompt, isDismissed: true, for: client)
        }
    }

    @Test("several ends at once are one")
    func race() async throws {
        for _ in 0..<5 {
            let prompt = try await shown(to: client)
            await withTaskGroup(of: Void.self) { group in
                for _ in 0..<4 {
                    group.addTask { _ = await client.fault(prompt, Self.prompting, "Dismiss") }
                }
                group.addTask { _ = try? await world.touchstone("lock") }
            }
            try await expectEnd(of: prompt, isDismissed: true, for: client)
        }
    }

    @Test("without a program that shows boxes it ends dismissed")
    func noBox() async throws {
        try world.keychain.draw(with: "/nonexistent/pinentry")
        let prompt = try await client.unlock([item]).prompt
        _ = try await client.call(prompt, Self.prompting, "Prompt", [.string("")])
        #expect(try await client.end(of: prompt).isDismissed)
        #expect(client.received("Completed").count == 1)
    }

    @Test("its client goes: nobody is told, and another one's prompt is shown at once")
    func clientGone() async throws {
        let other = try await world.client()
        _ = try await shown(to: other)
        await other.peer.close()
        try await expectNext(client)
        #expect(client.received("Completed").count == 1)
    }

    @Test(
        "the door ends, or is killed: the box goes, and the next door asks anew",
        arguments: [SIGTERM, SIGKILL]
    )
    func doorGone(_ signal: Int32) async throws {
        let prompt = try await shown(to: client)
        try await world.stopDoor(with: signal)
        try setBoxes(nil)
        try await world.startDoor()
        let next = try await world.client()
        try await expectNext(next)
        #expect(
            await next.fault(prompt, Self.prompting, "Prompt", [.string("")]) == SecretsPeer.unknownObject
        )
        #expect(client.received("Completed").filter { $0.path == prompt }.count <= 1)
    }

    @Test("the bus goes: the door ends, and its box with it")
    func busGone() async throws {
        _ = try await shown(to: client)
        let before = world.keychain.boxes.count
        let door = world.doorProcess
        await world.bus.stopBus()
        try await Deadline.wait(for: "the end of the door") { ChildProcess.hasEnded(door) ? true : nil }
        // The next box is shown at once: it would wait for the one before it.
        try setBoxes(nil)
        #expect(try await world.touchstone("lock").status == 0)
        #expect(try await world.touchstone("unlock").status == 0)
        #expect(world.keychain.boxes.count == before + 1)
    }

    @Test(
        "one that nobody shows ends after a minute, one that nobody answers with the daemon's own time",
        .enabled(if: CaseSize.isFull, "at full size only: Scripts/test-full")
    )
    func late() async throws {
        let unshown = try await client.unlock([item]).prompt
        let shown = try await shown(to: client)
        for prompt in [unshown, shown] {
            let end = try await Deadline.wait(for: "the end of the prompt", atMost: .seconds(180)) {
                client.received("Completed").first { $0.path == prompt }
            }
            #expect(end.arguments.first?.truth == true)
        }
        try await expectNext(client)
        #expect(client.received("Completed").count == 3)
    }
}
