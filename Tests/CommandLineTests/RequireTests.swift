import Glibc
import ScriptedDaemon
import Testing
import TouchstoneTesting

/// From every requirement to every other, locked and unlocked, refused and cancelled: the secret stays, and so does what it
/// requires unless the change was made.
@Suite(
    "touchstone require",
    .enabled(if: RealKeychain.isPossible, "touchstone and touchstoned are not both built")
)
struct RequireTests {
    private static let all = ["finger", "passcode", "either", "none"]

    /// A keychain and its sensor with one enrolled finger.
    private static func withFinger() async throws -> (RealKeychain, ScriptedFprintd) {
        let bus = try await PrivateBus.start(sensors: [])
        let fprintd = try await ScriptedFprintd.start(on: bus)
        return (try await RealKeychain.ready(bus: bus), fprintd)
    }

    /// Types the passcode, which a finger needs the first time on a terminal, and then touches the sensor.
    private static func touch(_ keychain: RealKeychain, _ fprintd: ScriptedFprintd) throws {
        try ScriptedPinentry.tell([.usual, .waits], home: keychain.home.path)
        fprintd.change { $0.verifications = [.init([.match])] }
    }

    /// The boxes of a prompt on a new terminal.
    private static func boxes(_ requirement: String) -> Int {
        switch requirement {
        case "none": 0
        case "finger": 2
        default: 1
        }
    }

    /// What each secret requires, by name.
    private static func requirements(_ keychain: RealKeychain) async throws -> [String: String] {
        let lines = try await keychain.run("list").text.split(separator: "\n").map {
            $0.split(separator: "\t")
        }
        return Dictionary(lines.map { (String($0[0]), String($0[1])) }, uniquingKeysWith: { $1 })
    }

    @Test(
        "every requirement becomes every other for what it was, asked for once, and the secret stays",
        arguments: all
    )
    func pairs(former: String) async throws {
        let (keychain, fprintd) = try await Self.withFinger()
        for later in Self.all {
            let name = "to-\(later)"
            #expect(
                try await keychain.run("set", name, "--require", former, input: "value of \(name)").status
                    == 0
            )
            let before = keychain.prompts
            if former == "finger", later != former { try Self.touch(keychain, fprintd) }
            let result = try await keychain.run("require", name, later)
            #expect(result.status == 0, "\(former) to \(later): \(result.errors)")
            #expect(result.output.isEmpty && result.errors.isEmpty)
            let boxes = former == later ? 0 : Self.boxes(former)
            #expect(keychain.prompts == before + boxes, "\(former) to \(later)")
            #expect(try await Self.requirements(keychain)[name] == later)
            // It is released for the new requirement, and for that alone.
            if later == "finger" { try Self.touch(keychain, fprintd) }
            let asked = keychain.prompts
            #expect(try await keychain.run("get", name).text == "value of \(name)")
            #expect(keychain.prompts == asked + Self.boxes(later))
            guard later != "none" else { continue }
            try keychain.setCancels(true)
            #expect(try await keychain.run("get", name).status == 4)
            try keychain.setCancels(false)
        }
    }

    @Test("several are changed for one passcode, whatever their order, also in a locked keychain")
    func several() async throws {
        let keychain = try await RealKeychain.ready()
        for (name, former) in [("a", "either"), ("b", "passcode"), ("c", "none"), ("d", "either")] {
            #expect(try await keychain.run("set", name, "--require", former, input: name).status == 0)
        }
        #expect(try await keychain.run("lock").status == 0)
        let before = keychain.prompts
        let result = try await keychain.run("require", "a", "b", "c", "a", "d", "none")
        #expect(result.status == 0, "\(result.errors)")
        #expect(keychain.prompts == before + 1)
        #expect(
            try await Self.requirements(keychain) == ["a": "none", "b": "none", "c": "none", "d": "none"]
        )
        for name in ["a", "b", "c", "d"] { #expect(try await keychain.run("get", name).text == name) }
        #expect(keychain.prompts == before + 1)
        // Before the first unlock even the names need the passcode; that one counts for the secrets too.
        #expect(try await keychain.run("require", "a", "b", "passcode").status == 0)
        try keychain.stop(with: SIGTERM)
        let first = keychain.prompts
        #expect(try await keychain.run("require", "a", "b", "either").status == 0)
        #expect(keychain.prompts == first + 1)
    }

    @Test("a finger and the passcode are each asked for once")
    func both() async throws {
        let (keychain, fprintd) = try await Self.withFinger()
        for (name, former) in [("a", "either"), ("b", "finger"), ("c", "passcode"), ("d", "finger")] {
            #expect(try await keychain.run("set", name, "--require", former, input: name).status == 0)
        }
        let before = keychain.prompts
        try Self.touch(keychain, fprintd)
        let result = try await keychain.run("require", "a", "b", "c", "d", "none")
        #expect(result.status == 0, "\(result.errors)")
        #expect(keychain.prompts <= before + 3)
        #expect(Set(try await Self.requirements(keychain).values) == ["none"])
    }

    @Test(
        "a name that is missing or lost, and a finger that is not enrolled, are refused before a prompt and any change"
    )
    func refusals() async throws {
        let (keychain, fprintd) = try await Self.withFinger()
        for (name, former) in [("a", "passcode"), ("b", "none"), ("lost", "finger")] {
            #expect(try await keychain.run("set", name, "--require", former, input: name).status == 0)
        }
        let former = ["a": "passcode", "b": "none", "lost": "finger"]
        let before = keychain.prompts
        let missing = try await keychain.run("require", "a", "nosuch", "b", "none")
        #expect(missing.status == 3)
        #expect(missing.errors.hasPrefix("error: there is no secret named 'nosuch'\n"))
        #expect(try await Self.requirements(keychain) == former)

        fprintd.change { $0.sensors = [.init(fingers: [])] }
        for names in [["b"], ["b", "a"]] {
            let result = try await keychain.run(all: ["require"] + names + ["finger"])
            #expect(result.status == 7, "\(result)")
            #expect(
                result.errors.hasPrefix("error: nothing was changed: only an enrolled finger could read ")
            )
            #expect(result.errors.contains("hint: enrol one with fprintd-enroll, or require either\n"))
        }
        #expect(keychain.prompts == before)

        let lost = try await keychain.run("require", "a", "lost", "none")
        #expect(lost.status == 3, "\(lost)")
        #expect(lost.errors.contains("enrolled"), "\(lost)")
        #expect(keychain.prompts == before)
        #expect(try await Self.requirements(keychain) == former)
    }

    @Test("a cancelled, a wrong and an impossible prompt change nothing")
    func prompts() async throws {
        let keychain = try await RealKeychain.ready()
        for name in ["a", "b"] {
            #expect(try await keychain.run("set", name, "--require", "passcode", input: name).status == 0)
        }
        try keychain.setCancels(true)
        #expect(try await keychain.run("require", "a", "b", "none").status == 4)
        try keychain.setCancels(false)
        let hidden = try await keychain.run("require", "a", "b", "none", hasTerminal: false)
        #expect(hidden.status == 8, "\(hidden)")
        #expect(try await Self.requirements(keychain) == ["a": "passcode", "b": "passcode"])
        let none = try RealKeychain()
        let result = try await none.run("require", "a", "none")
        #expect(result.status == 7)
        #expect(result.errors == "error: there is no keychain yet\nhint: touchstone setup\n")
    }

    @Test(
        "wrong usage is explained",
        arguments: [
            (["require"], "name ... requirement"), (["require", "a"], "finger, passcode, either or none"),
            (["require", "a", "b"], "finger, passcode, either or none"),
            (["require", "none"], "no secret is named before 'none'"),
            (["require", "", "none"], "a name is not empty"),
            (["require"] + Array(repeating: "a", count: 513) + ["none"], "at most 512 secrets"),
        ]
    )
    func usage(arguments: [String], reason: String) async throws {
        let result = try await CommandRun(arguments: arguments, home: TemporaryHome()).run()
        #expect(result.status == 64)
        #expect(result.errors.hasPrefix("error: ") && result.errors.contains(reason), "\(result.errors)")
    }

    @Test("a secret named like a requirement is changed like any other")
    func odd() async throws {
        let keychain = try await RealKeychain.ready()
        for name in ["none", "-x"] {
            #expect(try await keychain.run("set", "--require", "none", "--", name, input: "x").status == 0)
        }
        #expect(try await keychain.run("require", "none", "passcode").status == 0)
        #expect(try await keychain.run("require", "--", "-x", "either").status == 0)
        #expect(try await Self.requirements(keychain) == ["none": "passcode", "-x": "either"])
    }
}
