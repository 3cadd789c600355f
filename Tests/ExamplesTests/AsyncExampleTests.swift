import Foundation
import KeychainClient
import KeychainModel
import Testing
import TouchstoneTesting

/// The examples of the module `Touchstone`, each with a daemon and its scripted user.
@Suite("Examples of Touchstone", .timeLimit(.minutes(20)))
struct AsyncExampleTests {
    /// A keychain with a scripted sensor.
    private struct World {
        let bus: PrivateBus
        let fprintd: ScriptedFprintd
        let keychain: PrivateKeychain

        init(fingers: [String] = ["right-index-finger"]) async throws {
            bus = try await PrivateBus.start(sensors: [])
            fprintd = try await ScriptedFprintd.start(on: bus, .init(sensors: [.init(fingers: fingers)]))
            keychain = try await PrivateKeychain.ready(bus: bus)
        }

        /// Leaves the next prompts to the enrolled finger, which touches as soon as the sensor is armed.
        ///
        /// A touch alone is enough only where the passcode was typed before: on the display of `run`.
        func touches(_ count: Int = 1) throws {
            try keychain.tellPerson(Array(repeating: .waits, count: count))
            fprintd.change { $0.verifications = Array(repeating: .init([.match]), count: count) }
        }

        /// Runs an example until it exits.
        func run(_ name: String, _ arguments: String..., input: String? = nil) async throws -> (Int32, String)
        {
            try await ExampleTests.run(name, arguments, input: input, in: keychain)
        }

        /// Changes the enrolled fingers, and waits until the daemon notices.
        func enrol(_ fingers: [String]) async throws {
            let before = try keychain.client.canEvaluatePolicy(1).domainState
            fprintd.change { $0.sensors[0].fingers = fingers }
            try await fprintd.announce(.enrolStatus("enroll-completed", done: true))
            try await Deadline.wait(for: "another enrolled set") {
                try keychain.client.canEvaluatePolicy(1).domainState != before ? true : nil
            }
        }
    }

    @Test("Notes reads all notes after one prompt")
    func notes() async throws {
        let world = try await World()
        let before = world.keychain.prompts
        #expect(try await world.run("Notes", "show") == (0, ""))
        #expect(try await world.run("Notes", "add", "bridge", input: "at nine\n") == (0, ""))
        #expect(try await world.run("Notes", "add", "alley", input: "at ten\n") == (0, ""))
        #expect(world.keychain.prompts == before + 1, "an empty list asks, adding does not")
        #expect(try await world.run("Notes", "show") == (0, "alley: at ten\nbridge: at nine\n"))
        #expect(world.keychain.prompts == before + 2)
        try world.keychain.tellPerson([.cancels])
        #expect(try await world.run("Notes", "show") == (1, "You cancelled. Try again.\n"))
    }

    @Test("SessionTokens keeps its session until the fingers change or it signs out")
    func sessionTokens() async throws {
        let world = try await World()
        let display = try DisplaySocket()
        try world.keychain.client.lock()
        try world.keychain.client.unlock(world.keychain.prompt(on: display))
        func session(_ verb: String) async throws -> (Int32, String) {
            try await ExampleTests.run("SessionTokens", [verb], display: display.name, in: world.keychain)
        }
        #expect(try await session("show") == (1, "not signed in\n"))
        #expect(try await session("sign-in") == (0, "signed in\n"))
        try world.touches()
        #expect(try await session("show") == (0, "access: access-1\n"))
        try world.touches()
        #expect(try await session("refresh") == (0, "refreshed\n"))
        try world.touches()
        #expect(try await session("show") == (0, "access: access-2\n"))
        try world.keychain.tellPerson([.cancels])
        #expect(try await session("show") == (1, "You cancelled. Try again.\n"))
        try await world.enrol(["right-index-finger", "left-thumb"])
        #expect(try await session("show") == (1, "the fingers have changed: sign in with the password\n"))
        // The change of fingers makes the passcode necessary.
        try world.keychain.unlock()
        #expect(try await session("sign-in") == (0, "signed in\n"))
        #expect(try await session("sign-out") == (0, "signed out\n"))
        #expect(try await session("sign-out") == (0, "not signed in\n"))
    }

    @Test("PaymentSigner signs with the same key each time, after a prompt with what is signed")
    func paymentSigner() async throws {
        let world = try await World()
        let first = try await world.run("PaymentSigner", "12.30 EUR", "Alice")
        let second = try await world.run("PaymentSigner", "12.30 EUR", "Alice")
        let lines = [first, second].map { $0.1.split(separator: "\n") }
        #expect(first.0 == 0 && second.0 == 0)
        for lines in lines {
            #expect(lines.map { $0.prefix { $0 != ":" } } == ["key", "signature", "assurance"])
            #expect(lines.last == "assurance: test")
        }
        #expect(lines[0].first == lines[1].first && lines[0].dropFirst().first != lines[1].dropFirst().first)
        try world.keychain.tellPerson([.cancels])
        #expect(try await world.run("PaymentSigner", "1 EUR", "Bob") == (1, "You cancelled. Try again.\n"))
        #expect(try await world.run("PaymentSigner").0 == 2)
    }

    @Test("SealedFile opens what it sealed, and refuses an altered or renamed file")
    func sealedFile() async throws {
        let world = try await World()
        let file = try world.keychain.home.write("dear diary\n", to: "diary.txt")
        #expect(try await world.run("SealedFile", "open", file).0 == 1)
        let before = world.keychain.prompts
        #expect(try await world.run("SealedFile", "seal", file) == (0, "sealed\n"))
        #expect(world.keychain.prompts == before, "sealing asks nobody")
        let sealed = try Data(contentsOf: URL(filePath: file + ".sealed"))
        #expect(sealed.count == "dear diary\n".utf8.count + 113)
        #expect(sealed.range(of: Data("diary".utf8)) == nil)
        #expect(try await world.run("SealedFile", "open", file) == (0, "dear diary\n"))
        let other = world.keychain.home.appending("other.txt")
        try sealed.write(to: URL(filePath: other + ".sealed"))
        let renamed = try await world.run("SealedFile", "open", other)
        #expect(renamed.0 == 1 && renamed.1.hasPrefix("What was stored is damaged."))
    }

    @Test("CapabilityWatch prints the current state and its changes")
    func capabilityWatch() async throws {
        let world = try await World(fingers: [])
        let log = world.keychain.home.appending("watch")
        let process = try await ChildProcess.start(
            "\(Programs.directory)/CapabilityWatch",
            environment: ["TOUCHSTONE_HOME": world.keychain.home.path, "DISPLAY": ":0", "LANG": "C.UTF-8"],
            log: log
        )
        func wait(for text: String) async throws {
            do {
                try await Deadline.wait(for: text) {
                    try String(contentsOfFile: log, encoding: .utf8).contains(text) ? true : nil
                }
            } catch {
                let told = try String(contentsOfFile: log, encoding: .utf8)
                throw TestKitError.unexpected("\(error); it said: \(told)")
            }
        }
        try await wait(for: "passcode: ")
        try await wait(for: "0 enrolled; No finger is enrolled. Enrol a finger")
        try await world.enrol(["right-index-finger"])
        try await wait(for: "1 enrolled; Your passcode is needed before a finger counts again.")
        try world.keychain.client.lock()
        try world.keychain.unlock()
        try await wait(for: "1 enrolled; ready\n")
        process.stop()
    }
}
