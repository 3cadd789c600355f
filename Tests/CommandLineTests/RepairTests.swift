import Foundation
import Glibc
import KeychainClient
import KeychainModel
import ScriptedDaemon
import Testing
import TouchstoneTesting

@Suite(
    "touchstone and damaged secrets",
    .enabled(if: RealKeychain.isPossible, "touchstone and touchstoned are not both built")
)
struct RepairTests {
    /// Kills the daemon and waits for its end.
    private func kill(_ keychain: RealKeychain) async throws {
        let status = try RemoteKeychain(layout: keychain.home.layout, daemon: .none).status()
        let process = try #require(pid_t(exactly: status.daemonProcess))
        _ = Glibc.kill(process, SIGKILL)
        try await Deadline.wait(for: "the daemon's end") {
            // Then a new daemon can lock the directory.
            (try? RemoteKeychain(layout: keychain.home.layout, daemon: .none).status()) == nil ? true : nil
        }
    }

    @Test("every command reports the damaged log, and repair keeps what is on whole pages")
    func log() async throws {
        let keychain = try await RealKeychain.ready(settings: PrivateKeychain.keepsLog)
        for name in ["one", "two", "three"] {
            let set = try await keychain.run("set", name, "--require", "none", input: "secret \(name)")
            #expect(set.status == 0, "\(set.errors)")
        }
        let whole = try await keychain.run("repair")
        #expect(whole.status == 0 && whole.text == "Nothing is wrong: 3 items, all authentic.\n", "\(whole)")
        try await kill(keychain)
        let log = URL(fileURLWithPath: keychain.home.layout.dataDirectory + "/items.sqlite-wal")
        var octets = Array(try Data(contentsOf: log))
        // Where the last change ends.
        let mark = URL(fileURLWithPath: keychain.home.layout.dataDirectory + "/items.sqlite-mark")
        let end = try Data(contentsOf: mark)[8..<16].reduce(0) { $0 << 8 | Int($1) }
        octets[end - 300] ^= 16
        let handle = try FileHandle(forWritingTo: log)
        try handle.write(contentsOf: Data(octets))
        try handle.close()

        for arguments in [
            ["status"], ["doctor"], ["get", "one"], ["list"], ["set", "four"], ["delete", "one", "--yes"],
        ] {
            let result = try await keychain.run(all: arguments, input: "four")
            #expect(result.status == 9, "\(arguments): \(result)")
            #expect((result.text + result.errors).contains("damaged"), "\(arguments): \(result)")
            #expect((result.text + result.errors).contains("touchstone repair"), "\(arguments): \(result)")
        }
        let shown = try await keychain.run("repair")
        #expect(shown.status == 9)
        // The damaged page has the newest item; its former version has the other two.
        #expect(shown.text.contains("some of what it held may be lost"), "\(shown)")
        #expect(shown.text.contains("2 items can be kept: touchstone repair --accept"), "\(shown)")
        #expect(Array(try Data(contentsOf: log)) == octets, "looking changes nothing")
        let accepted = try await keychain.run("repair", "--accept")
        #expect(accepted.status == 0)
        #expect(accepted.text.contains("The former file is items.sqlite.damaged-1"), "\(accepted)")
        for name in ["one", "two"] {
            #expect(try await keychain.run("get", name).text == "secret \(name)")
        }
        #expect(try await keychain.run("get", "three").status == 3)
        #expect(try await keychain.run("status").status == 0)
        let aside = keychain.home.layout.dataDirectory + "/items.sqlite.damaged-1-wal"
        #expect(Array(try Data(contentsOf: URL(fileURLWithPath: aside))) == octets)
    }

    @Test("without the passcode repair shows and changes nothing")
    func cancelled() async throws {
        let keychain = try await RealKeychain.ready()
        try keychain.setCancels(true)
        for arguments in [["repair"], ["repair", "--accept"]] {
            let result = try await keychain.run(all: arguments)
            #expect(result.status == 4, "\(result)")
            #expect(result.text.isEmpty)
        }
    }
}
