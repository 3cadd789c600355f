import Foundation
import Glibc
import KeychainModel
import ScriptedDaemon
import Testing
import TouchstoneTesting

@Suite(
    "touchstone start-over, and files that change under the daemon",
    .enabled(if: RealKeychain.isPossible, "touchstone and touchstoned are not both built")
)
struct StartOverTests {
    @Test("a keychain without its keybag is not set up again until it is put aside")
    func startOver() async throws {
        let keychain = try await RealKeychain.ready()
        #expect(try await keychain.run("set", "mail", "--require", "none", input: "kept").status == 0)
        let data = keychain.home.layout.dataDirectory
        try keychain.stop(with: SIGTERM)
        let items = try Data(contentsOf: URL(fileURLWithPath: data + "/items.sqlite"))
        unlink(data + "/keybag")

        let refused = try await keychain.run("setup")
        #expect(refused.status == 10)
        #expect(refused.errors.contains("touchstone start-over"))
        #expect(try Data(contentsOf: URL(fileURLWithPath: data + "/items.sqlite")) == items)

        let done = try await keychain.run("start-over")
        #expect(done.status == 0)
        #expect(done.errors.contains("former-N"))
        #expect(try Data(contentsOf: URL(fileURLWithPath: data + "/former-1/items.sqlite")) == items)
        #expect(try await keychain.run("setup").status == 0)
        #expect(try await keychain.run("get", "mail").status == 3)
    }

    @Test(
        "a keychain that is whole is put aside too, unless the prompt is cancelled, and opens again from there"
    )
    func whole() async throws {
        let keychain = try await RealKeychain.ready()
        #expect(try await keychain.run("set", "mail", "--require", "none", input: "kept").status == 0)
        try keychain.setCancels(true)
        #expect(try await keychain.run("start-over").status == 4)
        try keychain.setCancels(false)
        #expect(try await keychain.run("get", "mail").text == "kept")
        #expect(try await keychain.run("start-over").status == 0)
        #expect(try await keychain.run("get", "mail").status == 7)
        try keychain.stop(with: SIGTERM)
        let data = keychain.home.layout.dataDirectory
        for name in try FileManager.default.contentsOfDirectory(atPath: data + "/former-1") {
            rename(data + "/former-1/" + name, data + "/" + name)
        }
        #expect(try await keychain.run("unlock").status == 0)
        #expect(try await keychain.run("get", "mail").text == "kept")
    }

    @Test("files that were replaced by the same are used at once, and nothing is lost")
    func same() async throws {
        let keychain = try await RealKeychain.ready()
        #expect(try await keychain.run("set", "mail", "--require", "none", input: "kept").status == 0)
        let items = keychain.home.layout.dataDirectory + "/items.sqlite"
        try FileManager.default.copyItem(atPath: items, toPath: items + "-copy")
        rename(items + "-copy", items)
        #expect(try await keychain.run("set", "web", "--require", "none", input: "new").status == 0)
        #expect(try await keychain.run("status").status == 0)
        try keychain.stop(with: SIGTERM)
        #expect(try await keychain.run("unlock").status == 0)
        #expect(try await keychain.run("get", "mail").text == "kept")
        #expect(try await keychain.run("get", "web").text == "new")
    }

    @Test("a secret is not stored in files that others took the place of, until the hint is followed")
    func others() async throws {
        let keychain = try await RealKeychain.ready()
        #expect(try await keychain.run("set", "mail", "--require", "none", input: "kept").status == 0)
        let items = keychain.home.layout.dataDirectory + "/items.sqlite"
        let files = ["", "-wal", "-mark"].map { items + $0 }
        for file in files { try FileManager.default.copyItem(atPath: file, toPath: file + "-copy") }
        #expect(try await keychain.run("set", "later", "--require", "none", input: "aside").status == 0)
        for file in files { rename(file + "-copy", file) }

        let refused = try await keychain.run("set", "web", "--require", "none", input: "lost")
        #expect(refused.status == 7)
        #expect(
            refused.errors.contains("were replaced or moved while the daemon uses them; nothing was stored")
        )
        #expect(refused.errors.contains("touchstone lock, then touchstone unlock"))
        let status = try await keychain.run("status")
        #expect(status.status == 7)
        #expect(status.text.contains("cannot be used: the keychain's files were replaced"))
        #expect(!status.text.contains("damaged"))
        #expect(try await keychain.run("get", "mail").text == "kept")

        #expect(try await keychain.run("lock").status == 0)
        #expect(try await keychain.run("unlock").status == 0)
        #expect(try await keychain.run("set", "web", "--require", "none", input: "new").status == 0)
        #expect(try await keychain.run("status").status == 0)
        #expect(try await keychain.run("get", "web").text == "new")
        #expect(try await keychain.run("get", "mail").text == "kept")
        #expect(try await keychain.run("get", "later").status == 3)
        // What was open is kept.
        #expect(FileManager.default.fileExists(atPath: items + ".damaged-1"))
    }
}
