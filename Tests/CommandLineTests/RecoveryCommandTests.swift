import Foundation
import Glibc
import ScriptedDaemon
import Testing
import TouchstoneTesting

@Suite(
    "touchstone recovery",
    .enabled(if: RealKeychain.isPossible, "touchstone and touchstoned are not both built")
)
struct RecoveryCommandTests {
    /// The code that the person noted last.
    private static func noted(_ keychain: RealKeychain) throws -> String {
        try String(contentsOfFile: keychain.home.path + "/code", encoding: .utf8)
    }

    private static func note(_ code: String, _ keychain: RealKeychain) throws {
        try code.write(toFile: keychain.home.path + "/code", atomically: true, encoding: .utf8)
    }

    @Test("the new code replaces the former one, which opens its backups still")
    func renewed() async throws {
        let keychain = try await RealKeychain.ready()
        #expect(try await keychain.run("set", "mail", "--require", "passcode", input: "kept").status == 0)
        let former = try Self.noted(keychain)
        let file = keychain.home.path + "/backup"
        #expect(try await keychain.run("backup", file).status == 0)

        let before = keychain.prompts
        let renewed = try await keychain.run("recovery", "new")
        #expect(renewed.status == 0, "\(renewed.errors)")
        #expect(renewed.output.isEmpty)
        #expect(renewed.errors.contains("The new recovery code is set"))
        #expect(renewed.errors.contains("It still opens the backups written under it"))
        #expect(keychain.prompts == before + 3, "the passcode, the code shown, and typed back")
        let later = try Self.noted(keychain)
        #expect(later != former)
        #expect(!renewed.errors.contains(later))

        #expect(try await keychain.run("recovery", "check").status == 0)
        try Self.note(former, keychain)
        let wrong = try await keychain.run("recovery", "check")
        #expect(wrong.status == 5)
        #expect(
            wrong.errors
                == "error: that is not the recovery code\nhint: try again with the code that you noted last\n"
        )
        #expect(try await keychain.run("recover").status == 5)
        let restored = try RealKeychain()
        try Self.note(former, restored)
        #expect(try await restored.run("backup", "--restore", file).status == 0)
        #expect(try await restored.run("get", "mail").text == "kept")
        // A restored keychain has the code of its backup.
        #expect(try await restored.run("recovery", "check").status == 0)

        try Self.note(later, keychain)
        let last = keychain.home.path + "/later"
        #expect(try await keychain.run("backup", last).status == 0)
        #expect(try await keychain.run("recover").status == 0)
        #expect(try await keychain.run("get", "mail").text == "kept")
        let other = try RealKeychain()
        try Self.note(former, other)
        #expect(
            try await other.run("backup", "--restore", last).status == 5,
            "a later backup has the new code"
        )
    }

    @Test("a locked keychain's code is checked without unlocking it")
    func locked() async throws {
        let keychain = try await RealKeychain.ready()
        #expect(try await keychain.run("lock").status == 0)
        let before = keychain.prompts
        let checked = try await keychain.run("recovery", "check")
        #expect(checked.status == 0)
        #expect(checked.errors.hasPrefix("That is this keychain's recovery code."))
        #expect(keychain.prompts == before + 1)
        #expect(try await keychain.run("status").text.contains("Keychain:   locked"))
        // The passcode for a new code unlocks it, as for a new passcode.
        #expect(try await keychain.run("recovery", "new").status == 0)
        #expect(try await keychain.run("recovery", "check").status == 0)
    }

    @Test("cancelled at any prompt, the former code stays", arguments: 0..<3)
    func cancelled(step: Int) async throws {
        let keychain = try await RealKeychain.ready()
        let former = try Self.noted(keychain)
        let deeds = Array(repeating: ScriptedPinentry.Deed.usual, count: step) + [.cancels]
        try ScriptedPinentry.tell(deeds, home: keychain.home.path)
        #expect(try await keychain.run("recovery", "new").status == 4)
        let shown = try Self.noted(keychain)
        #expect((shown == former) == (step == 0))
        if shown != former { #expect(try await keychain.run("recovery", "check").status == 5) }
        try Self.note(former, keychain)
        #expect(try await keychain.run("recovery", "check").status == 0)
    }

    @Test(
        "without a keychain, or where no prompt can be shown, both are refused",
        arguments: ["new", "check"]
    )
    func refused(command: String) async throws {
        let none = try RealKeychain()
        let missing = try await none.run("recovery", command)
        #expect(missing.status == 7)
        #expect(missing.errors == "error: there is no keychain yet\nhint: touchstone setup\n")
        let keychain = try await RealKeychain.ready()
        #expect(try await keychain.run("recovery", command, hasTerminal: false).status == 8)
    }

    @Test("wrong codes end as those of recover do: each run has three, and soon there are no more prompts")
    func limited() async throws {
        let keychain = try await RealKeychain.ready()
        let right = try Self.noted(keychain)
        try Self.note("0000-0000-0000-0000-0000-0000-0000", keychain)
        for command in [["recovery", "check"], ["recover"]] {
            let before = keychain.prompts
            #expect(try await keychain.run(all: command).status == 5)
            #expect(keychain.prompts == before + 3)
        }
        var refusal = ""
        for _ in 0..<20 where refusal.isEmpty {
            let before = keychain.prompts
            let result = try await keychain.run("recovery", "check")
            if keychain.prompts == before { refusal = result.errors }
        }
        #expect(refusal.contains("too many prompts ended without success within a minute"), "\(refusal)")
        try Self.note(right, keychain)
    }
}
