import Glibc
import ScriptedDaemon
import Testing
import TouchstoneTesting

/// The setting `names-while-locked`: what a locked keychain tells of secrets that it does not release.
@Suite(
    "Names while the keychain is locked",
    .enabled(if: RealKeychain.isPossible, "touchstone and touchstoned are not both built")
)
struct HiddenNameTests {
    private static func ready(_ settings: [String]) async throws -> RealKeychain {
        let keychain = try await RealKeychain.ready(settings: settings)
        for (name, options) in [
            ("day", ["--require", "none"]), ("asked", ["--require", "either"]),
            ("night", ["--require", "none", "--when", "first-unlock"]),
        ] {
            let result = try await keychain.run(all: ["set", name] + options, input: "value of \(name)")
            #expect(result.status == 0, "\(result.errors)")
        }
        return keychain
    }

    /// The names that a command without a terminal writes, by their first fields; nil if it needs a prompt.
    private static func names(_ keychain: RealKeychain, _ command: String...) async throws -> [String]? {
        let before = keychain.prompts
        let result = try await keychain.run(all: command, hasTerminal: false)
        #expect(keychain.prompts == before)
        guard result.status == 0 else {
            #expect(result.status == 8 && result.output.isEmpty, "\(result.errors)")
            for name in ["day", "asked"] { #expect(!result.errors.contains(name)) }
            return nil
        }
        return result.text.split(separator: "\n").map { String($0.prefix { $0 != "\t" }) }
    }

    @Test(
        "unless they are hidden, they are listed, and before the first unlock never",
        arguments: [[], ["names-while-locked = listed"]]
    )
    func listed(settings: [String]) async throws {
        let keychain = try await Self.ready(settings)
        for isLocked in [false, true] {
            if isLocked { #expect(try await keychain.run("lock").status == 0) }
            #expect(try await Self.names(keychain, "list") == ["asked", "day", "night"])
            #expect(try await Self.names(keychain, "find", "a") == ["asked", "day"])
            let words = try await keychain.run("---complete", "zsh", "get", "")
            #expect(words.text.contains("day"), "\(words.text)")
        }
        try keychain.stop(with: SIGTERM)
        #expect(try await Self.names(keychain, "list") == nil)
    }

    @Test("hidden ones are listed while it is unlocked, and for a passcode; what is released stays known")
    func hidden() async throws {
        let keychain = try await Self.ready(["names-while-locked = hidden"])
        #expect(try await Self.names(keychain, "list") == ["asked", "day", "night"])
        #expect(try await keychain.run("lock").status == 0)
        for command in [["list"], ["list", "--json"], ["list", "--tree"], ["find", "a"]] {
            let result = try await keychain.run(all: command, hasTerminal: false)
            #expect(result.status == 8 && result.output.isEmpty, "\(command): \(result.text)")
        }
        for name in ["day", "asked"] {
            #expect(try await keychain.run("show", name, hasTerminal: false).status == 8)
        }
        #expect(try await keychain.run("show", "night", hasTerminal: false).status == 0)
        #expect(try await keychain.run("get", "night", hasTerminal: false).text == "value of night")
        let asked = keychain.prompts
        let words = try await keychain.run("---complete", "zsh", "get", "")
        #expect(keychain.prompts == asked && !words.text.contains("day") && !words.text.contains("asked"))
        // Somebody is there: one passcode, which unlocks.
        #expect(try await keychain.run("list").text.contains("day\t"))
        #expect(keychain.prompts == asked + 1)
        #expect(try await Self.names(keychain, "list") == ["asked", "day", "night"])
    }

    @Test("another word ends the daemon's start with what is right")
    func refused() async throws {
        let keychain = try RealKeychain(settings: ["names-while-locked = off"])
        let result = try await keychain.run("status")
        #expect(result.status != 0)
        #expect(result.errors.contains("names-while-locked must be listed or hidden"), "\(result.errors)")
    }
}
