import Foundation
import KeychainModel
import ScriptedDaemon
import Testing

@Suite(
    "touchstone with its daemon",
    .enabled(if: RealKeychain.isPossible, "touchstone and touchstoned are not both built")
)
struct RealKeychainTests {
    @Test("a command starts the daemon, and there is no keychain at first")
    func first() async throws {
        let keychain = try RealKeychain()
        let status = try await keychain.run("status", "--json")
        #expect(status.status == 0)
        #expect(status.text.contains("\"keychain\": \"notSetUp\""))
        #expect(status.text.contains("\"assurance\": \"test\""))
        #expect(try await keychain.run("status").text.contains("Lockouts:   none\n"))
        #expect(try await !keychain.run("doctor").text.contains("lockouts: "))
        let get = try await keychain.run("get", "mail")
        #expect(get.status == 7)
        #expect(get.errors == "error: there is no keychain yet\nhint: touchstone setup\n")
    }

    @Test("concurrent commands start one daemon")
    func together() async throws {
        let keychain = try RealKeychain()
        let processes = try await withThrowingTaskGroup(of: String.self) { group in
            for _ in 0..<6 {
                group.addTask {
                    let status = try await keychain.run("status", "--json")
                    let line = status.text.split(separator: "\n").first { $0.contains("daemonProcess") }
                    return line.map(String.init) ?? "none: \(status.errors)"
                }
            }
            return try await group.reduce(into: Set<String>()) { $0.insert($1) }
        }
        #expect(processes.count == 1, "\(processes)")
    }

    @Test("set, get, list, --replace and delete work")
    func life() async throws {
        let keychain = try await RealKeychain.ready()
        #expect(try await keychain.run("setup").status == 10)
        #expect(try await keychain.run("set", "mail", "--require", "none", input: "one\n").status == 0)
        #expect(try await keychain.run("get", "mail").text == "one")
        let again = try await keychain.run("set", "mail", input: "two")
        #expect(again.status == 10)
        #expect(again.errors.contains("hint: use --replace"))
        #expect(try await keychain.run("get", "mail").text == "one")
        #expect(
            try await keychain.run("set", "mail", "--replace", "--require", "none", input: "two").status == 0
        )
        #expect(try await keychain.run("get", "mail").text == "two")
        #expect(try await keychain.run("set", "new", "--replace", input: "three").status == 0)
        let list = try await keychain.run("list")
        #expect(list.text.split(separator: "\n").map { $0.prefix { $0 != "\t" } } == ["mail", "new"])
        #expect(list.text.contains("new\teither\t20"))
        #expect(try await keychain.run("show", "new").text.contains("Requires:   a finger or the passcode\n"))
        #expect(try await keychain.run("delete", "mail", "--yes").status == 0)
        #expect(try await keychain.run("get", "mail").status == 3)
        #expect(try await keychain.run("delete", "mail", "--yes").status == 3)
    }

    @Test("a secret that requires the passcode prompts for it, and a cancelled prompt is an error")
    func passcode() async throws {
        let keychain = try await RealKeychain.ready()
        #expect(try await keychain.run("set", "key", "--require", "passcode", input: "k").status == 0)
        let before = keychain.prompts
        #expect(try await keychain.run("get", "key").text == "k")
        #expect(keychain.prompts == before + 1)
        try keychain.setCancels(true)
        let cancelled = try await keychain.run("get", "key")
        #expect(cancelled.status == 4)
        #expect(cancelled.output.isEmpty)
        #expect(cancelled.errors.hasPrefix("error: cancelled\n"))
    }

    @Test("--replace replaces a secret's access rule together with the secret")
    func replacedRule() async throws {
        let keychain = try await RealKeychain.ready()
        #expect(try await keychain.run("set", "key", "--require", "passcode", input: "old").status == 0)
        #expect(
            try await keychain.run("set", "key", "--replace", "--require", "none", input: "new").status == 0
        )
        let before = keychain.prompts
        #expect(try await keychain.run("get", "key").text == "new")
        #expect(keychain.prompts == before)
        #expect(
            try await keychain.run("set", "key", "--replace", "--require", "passcode", input: "strict").status
                == 0
        )
        #expect(try await keychain.run("get", "key").text == "strict")
        #expect(keychain.prompts == before + 1)
    }

    @Test("run passes several secrets to a command with one prompt")
    func run() async throws {
        let keychain = try await RealKeychain.ready()
        for name in ["a", "b"] {
            #expect(
                try await keychain.run("set", name, "--require", "passcode", input: "value of \(name)").status
                    == 0
            )
        }
        #expect(try await keychain.run("set", "c", "--require", "either", input: "value of c").status == 0)
        let before = keychain.prompts
        let result = try await keychain.run(
            "run",
            "--env",
            "A=a",
            "--env",
            "B=b",
            "--env",
            "C=c",
            "--",
            "sh",
            "-c",
            "echo \"$C,$A,$B\"; exit 9"
        )
        #expect(result.status == 9)
        #expect(result.text == "value of c,value of a,value of b\n")
        #expect(keychain.prompts == before + 1)
    }

    @Test("after a lock the passcode is required again, and without a terminal the request is refused")
    func lock() async throws {
        let keychain = try await RealKeychain.ready()
        #expect(try await keychain.run("set", "mail", "--require", "none", input: "x").status == 0)
        #expect(try await keychain.run("lock").status == 0)
        #expect(try await keychain.run("status").text.contains("Keychain:   locked"))
        // Names are readable after the first unlock.
        let before = keychain.prompts
        #expect(try await keychain.run("list").status == 0)
        #expect(keychain.prompts == before)
        let refused = try await keychain.run("get", "mail", hasTerminal: false)
        #expect(refused.status == 8)
        #expect(refused.errors.contains("hint: "))
        #expect(try await keychain.run("get", "mail").text == "x")
        #expect(keychain.prompts == before + 1)
        #expect(try await keychain.run("lock").status == 0)
        #expect(try await keychain.run("unlock").status == 0)
        #expect(try await keychain.run("status").text.contains("Keychain:   unlocked"))
    }

    @Test("doctor finds no fault in a working keychain")
    func doctor() async throws {
        let keychain = try await RealKeychain.ready()
        #expect(try await keychain.run("set", "mail", input: "x").status == 0)
        let result = try await keychain.run("doctor")
        #expect(result.status == 0, "\(result.text)")
        for part in [
            "locked memory", "configuration", "socket's directory", "daemon", "keychain", "device key",
            "store",
        ] {
            #expect(result.text.contains("  \(part): "), "\(part)")
        }
        #expect(!result.text.contains("fail"))
        #expect(result.text.contains(" Test parts are configured. The device key is"))
        #expect(result.text.contains("ok    store: 1 item, authentic"))
        let json = try await keychain.run("doctor", "--json")
        let list = try #require(JSONSerialization.jsonObject(with: Data(json.output)) as? [[String: Any]])
        #expect(list.count > 10)
    }

    @Test("status and doctor report a missing pinentry before a prompt is needed")
    func missingPinentry() async throws {
        let keychain = try RealKeychain(pinentry: "/nonexistent/pinentry")
        let status = try await keychain.run("status")
        #expect(status.status == 0)
        #expect(status.text.contains("Prompt:     cannot be shown: prompterMissing: /nonexistent/pinentry"))
        let doctor = try await keychain.run("doctor")
        #expect(doctor.status == 1)
        #expect(doctor.text.contains("fail  prompt program: "))
        #expect(doctor.text.contains("apt install pinentry-curses"))
        #expect(try await keychain.run("setup").errors.contains("error: no program can show the prompt\n"))
    }

    @Test("doctor finds a directory that others may enter")
    func openDirectory() async throws {
        let keychain = try await RealKeychain.ready()
        let data = keychain.home.layout.dataDirectory
        try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: data)
        let result = try await keychain.run("doctor")
        #expect(result.status == 1)
        #expect(
            result.text.contains("fail  store's directory: \(data) has mode 755\n      -> chmod 700 \(data)")
        )
    }
}
