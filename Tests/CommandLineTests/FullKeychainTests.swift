import Foundation
import ScriptedDaemon
import Testing

@Suite(
    "touchstone with a full keychain",
    .enabled(if: RealKeychain.isPossible, "touchstone and touchstoned are not both built")
)
struct FullKeychainTests {
    private static let refusal = """
        error: the keychain is full: it has 2 items at most; nothing was stored
        hint: delete what is not needed: touchstone list, touchstone delete NAME

        """

    @Test("set reports a full keychain and stores nothing; --replace works, and delete makes room")
    func set() async throws {
        let keychain = try await RealKeychain.ready(settings: ["test.most-items = 2"])
        for name in ["one", "two"] {
            #expect(try await keychain.run("set", name, "--require", "none", input: name).status == 0)
        }
        let refused = try await keychain.run("set", "three", "--require", "none", input: "three")
        #expect(refused.status == 1)
        #expect(refused.errors == Self.refusal)
        #expect(try await keychain.run("get", "three").status == 3)
        let replaced = try await keychain.run("set", "one", "--replace", "--require", "none", input: "new")
        #expect(replaced.status == 0, "\(replaced.errors)")
        #expect(try await keychain.run("get", "one").text == "new")
        #expect(try await keychain.run("delete", "two", "--yes").status == 0)
        #expect(try await keychain.run("set", "three", "--require", "none", input: "three").status == 0)
    }

    @Test("a backup with too many items is refused as a whole, and restores where there is room")
    func restore() async throws {
        let old = try await RealKeychain.ready()
        for name in ["one", "two", "three"] {
            #expect(try await old.run("set", name, "--require", "none", input: name).status == 0)
        }
        let file = old.home.path + "/backup"
        #expect(try await old.run("backup", file).status == 0)
        let former = try Data(contentsOf: URL(fileURLWithPath: file))

        let small = try RealKeychain(settings: ["test.most-items = 2"])
        try FileManager.default.copyItem(atPath: old.home.path + "/code", toPath: small.home.path + "/code")
        let refused = try await small.run("backup", "--restore", file)
        #expect(refused.status == 1)
        #expect(refused.errors.contains(Self.refusal), "\(refused.errors)")
        #expect(try await small.run("get", "one").errors.contains("there is no keychain yet"))
        #expect(try Data(contentsOf: URL(fileURLWithPath: file)) == former)

        let new = try RealKeychain(settings: ["test.most-items = 3"])
        try FileManager.default.copyItem(atPath: old.home.path + "/code", toPath: new.home.path + "/code")
        #expect(try await new.run("backup", "--restore", file).status == 0)
        #expect(try await new.run("get", "three").text == "three")
    }
}
