import Foundation
import Glibc
import ScriptedDaemon
import Testing
import TouchstoneTesting

/// `touchstone pinentry`, under its link's name, between gpg-agent and a pinentry that a person types into.
///
/// The cells: a passphrase that is stored, is not, is wrong, has more lines, is cancelled, or is new; what gpg-agent says line by line.
@Suite(
    "Passphrases of gpg",
    .enabled(
        if: RealKeychain.isPossible && Programs.isBuilt("/usr/bin/gpg")
            && Programs.isBuilt("/usr/bin/gpg-agent"),
        "touchstone, touchstoned and gpg are not all there"
    )
)
struct PinentryTests {
    private static let passphrase = "pa ss%25 phräse"
    /// The same as pinentry sends it.
    private static let typed = passphrase.replacing("%", with: "%25")

    private let keychain: RealKeychain
    private let home: String
    private let variables: [String: String]

    init() async throws {
        keychain = try await RealKeychain.ready()
        home = keychain.home.path
        variables = [
            "TOUCHSTONE_DAEMON": Programs.touchstoned, "PATH": "\(home)/bin:/usr/bin:/bin", "HOME": home,
            "GNUPGHOME": home + "/gnupg", "DISPLAY": ":7316", "LC_ALL": "C.UTF-8",
        ]
        for name in ["bin", "gnupg"] {
            try FileManager.default.createDirectory(
                atPath: "\(home)/\(name)",
                withIntermediateDirectories: false,
                attributes: [.posixPermissions: 0o700]
            )
        }
        try FileManager.default.createSymbolicLink(
            atPath: home + "/bin/pinentry-touchstone",
            withDestinationPath: Programs.touchstone
        )
        // The person's pinentry: it types what the file `typed` has, and keeps what it was told.
        let script = """
            #!/bin/sh
            echo "started $*" >> \(home)/person
            echo 'OK Pleased to meet you'
            while IFS= read -r line; do
                printf '%s\\n' "$line" >> \(home)/person
                case "$line" in
                SETREPEAT*) new=-new; echo OK ;;
                GETPIN*)
                    printf 'D %s\\n' "$(cat \(home)/typed$new)"
                    if [ -n "$new" ]; then echo 'S PIN_REPEATED'; fi
                    echo OK ;;
                'OPTION allow-external-password-cache') echo 'ERR 83886254 Unknown option <Pinentry>' ;;
                BYE*) echo OK; exit 0 ;;
                *) echo OK ;;
                esac
            done
            """
        try script.write(toFile: home + "/bin/pinentry", atomically: true, encoding: .utf8)
        chmod(home + "/bin/pinentry", 0o700)
        try "pinentry-program \(home)/bin/pinentry-touchstone\nallow-loopback-pinentry\n"
            .write(toFile: home + "/gnupg/gpg-agent.conf", atomically: true, encoding: .utf8)
        try "message".write(toFile: home + "/message", atomically: true, encoding: .utf8)
    }

    /// Runs a program to its end.
    private func run(_ program: String, _ arguments: String..., input: String? = nil) async throws
        -> CommandResult
    {
        var run = CommandRun(arguments: arguments, home: keychain.home)
        run.program = program
        run.input = input.map { .octets(Array($0.utf8)) } ?? .nothing
        run.terminal = try PseudoTerminal()
        run.environment = variables
        return try await run.run()
    }

    /// What the person's pinentry was told; empty if it was not started.
    private var person: String { (try? String(contentsOfFile: home + "/person", encoding: .utf8)) ?? "" }

    /// Makes a key with a passphrase, which gpg-agent then forgets; returns its keygrip.
    private func makeKey() async throws -> String {
        let made = try await run(
            "/usr/bin/gpg",
            "--batch",
            "--pinentry-mode",
            "loopback",
            "--passphrase",
            Self.passphrase,
            "--quick-gen-key",
            "me@example.org",
            "ed25519",
            "sign"
        )
        try #require(made.status == 0, "\(made.errors)")
        try await forget()
        let list = try await run("/usr/bin/gpg", "--list-secret-keys", "--with-keygrip", "--with-colons")
        return try #require(
            list.text.split(separator: "\n").first { $0.hasPrefix("grp:") }?.split(separator: ":").last.map(
                String.init
            )
        )
    }

    private func forget() async throws {
        #expect(try await run("/usr/bin/gpgconf", "--reload", "gpg-agent").status == 0)
    }

    private func sign() async throws -> CommandResult {
        try await run(
            "/usr/bin/gpg",
            "--batch",
            "--yes",
            "--output",
            home + "/message.sig",
            "--detach-sign",
            home + "/message"
        )
    }

    private func store(_ keygrip: String, _ value: String) async throws {
        let arguments = ["set", "gpg:" + keygrip, "--replace", "--require", "passcode"]
        #expect(try await keychain.run(all: arguments, input: value).status == 0)
    }

    private func endAgent() async throws { _ = try await run("/usr/bin/gpgconf", "--kill", "all") }

    @Test(
        "gpg signs with a passphrase of the keychain; what is not stored or wrong is typed, and a cancelled box ends it"
    )
    func signatures() async throws {
        let keygrip = try await makeKey()
        try Self.typed.write(toFile: home + "/typed", atomically: true, encoding: .utf8)
        // Not stored: typed, after all that was set.
        #expect(try await sign().status == 0)
        #expect(person.hasPrefix("started ") && person.contains("SETDESC ") && person.contains("\nGETPIN\n"))
        #expect(person.contains("\nSETKEYINFO n/\(keygrip)\n"))

        // Stored, with more lines: the gesture alone.
        try await store(keygrip, Self.passphrase + "\nmore\n")
        try await forget()
        unlink(home + "/person")
        let boxes = keychain.boxes.count
        let signed = try await sign()
        #expect(signed.status == 0, "\(signed.errors)")
        #expect(person.isEmpty, "\(person)")
        #expect(keychain.boxes.count == boxes + 1)
        #expect(keychain.boxes.last?.contains("Give gpg the passphrase 'gpg:\(keygrip)'.") == true)

        // Cancelled: gpg fails, and nothing is typed.
        try await forget()
        try keychain.setCancels(true)
        let cancelled = try await sign()
        #expect(cancelled.status == 2 && cancelled.errors.contains("cancel"), "\(cancelled.errors)")
        #expect(person.isEmpty, "\(person)")
        try keychain.setCancels(false)

        // Wrong: asked for once, then typed.
        try await store(keygrip, "wrong")
        try await forget()
        let before = keychain.boxes.count
        #expect(try await sign().status == 0)
        #expect(keychain.boxes.count == before + 1)
        #expect(person.contains("\nSETERROR ") && person.contains("\nGETPIN\n"), "\(person)")
        try await endAgent()
    }

    @Test("to change a passphrase a person types both: gpg-agent names no key")
    func changed() async throws {
        let keygrip = try await makeKey()
        try await store(keygrip, Self.passphrase)
        try Self.typed.write(toFile: home + "/typed", atomically: true, encoding: .utf8)
        try "new passphrase of 1 key".write(toFile: home + "/typed-new", atomically: true, encoding: .utf8)
        let boxes = keychain.boxes.count
        let changed = try await run("/usr/bin/gpg", "--batch", "--change-passphrase", "me@example.org")
        #expect(changed.status == 0, "\(changed.errors)")
        #expect(keychain.boxes.count == boxes)
        #expect(person.contains("\nSETKEYINFO --clear\n") && person.contains("\nSETREPEAT"), "\(person)")
        // What is stored is the old one: wrong, and then typed.
        try await forget()
        unlink(home + "/person")
        unlink(home + "/typed")
        #expect(rename(home + "/typed-new", home + "/typed") == 0)
        #expect(try await sign().status == 0)
        #expect(keychain.boxes.count == boxes + 1 && person.contains("\nSETERROR "), "\(person)")
        try await endAgent()
    }

    @Test("each line has its answer, and what pinentry is to answer goes there with all that was set")
    func lines() async throws {
        let keygrip = String(repeating: "A1", count: 20)
        try await store(keygrip, "one %\rtwo")
        /// The answers to some lines.
        func answers(_ lines: String...) async throws -> [String] {
            let result = try await run(
                home + "/bin/pinentry-touchstone",
                "--display",
                ":7316",
                input: lines.map { $0 + "\n" }.joined()
            )
            #expect(result.status == 0, "\(result.errors)")
            return result.text.split(separator: "\n").dropFirst().map(String.init)
        }
        let long = "SETDESC " + String(repeating: "x", count: 1000)
        #expect(
            try await answers(
                "OPTION grab",
                "",
                "# nothing",
                "#nothing",
                "NOP",
                "GETINFO flavor",
                "GETINFO x",
                long,
                "BYE"
            )
                == [
                    "OK", "OK", "D touchstone", "OK", "ERR 83886360 Invalid parameter <Pinentry>",
                    "ERR 83886343 Line too long <Pinentry>", "OK closing connection",
                ]
        )
        let version = try await answers("GETINFO version", "GETINFO pid", "bye")
        #expect(version.count == 5 && version[0].hasPrefix("D ") && version[3] == "OK")
        #expect(
            try await answers("SETKEYINFO n/\(keygrip.lowercased())", "GETPIN")
                == ["OK", "D one %25%0Dtwo", "OK"]
        )
        #expect(person.isEmpty, "\(person)")

        // A first line that ends as on Windows, the longest one, and for a person one that is longer, and an empty one.
        try await store(keygrip, "one\r\ntwo")
        #expect(try await answers("SETKEYINFO n/\(keygrip)", "GETPIN") == ["OK", "D one", "OK"])
        let longest = String(repeating: "x", count: 255)
        try await store(keygrip, longest + "\n")
        #expect(try await answers("SETKEYINFO n/\(keygrip)", "GETPIN") == ["OK", "D " + longest, "OK"])
        #expect(person.isEmpty, "\(person)")
        try "typed".write(toFile: home + "/typed", atomically: true, encoding: .utf8)
        for value in [longest + "x", "\nx"] {
            try await store(keygrip, value)
            #expect(
                try await answers("SETKEYINFO n/\(keygrip)", "GETPIN", "BYE")
                    == ["OK", "D typed", "OK", "OK"]
            )
        }
        try await store(keygrip, "one")

        // Each of these is for a person: of no key, of something else, wrong, new, unset again, a question, asked for twice.
        for name in ["typed", "typed-new"] {
            try "typed".write(toFile: "\(home)/\(name)", atomically: true, encoding: .utf8)
        }
        let key = "SETKEYINFO n/\(keygrip)"
        for lines in [
            ["GETPIN"], ["SETKEYINFO u/\(keygrip)", "GETPIN"],
            ["SETKEYINFO n/../\(keygrip.dropLast(3))", "GETPIN"],
            ["SETKEYINFO n/\(String(repeating: "B2", count: 20))", "GETPIN"],
            [key, "SETKEYINFO --clear", "GETPIN"],
            [key, "SETERROR no", "GETPIN"], [key, "SETREPEAT again", "GETPIN"], [key, "RESET", "GETPIN"],
            [key, "SETDESC d", "CONFIRM"], [key, "GETPIN", "GETPIN"],
        ] {
            unlink(home + "/person")
            let result = try await run(
                home + "/bin/pinentry-touchstone",
                "--display",
                ":7316",
                input: (["OPTION allow-external-password-cache"] + lines + ["SETOK yes", "BYE"]).map {
                    $0 + "\n"
                }
                .joined()
            )
            #expect(result.status == 0, "\(lines): \(result.errors)")
            let asked = lines.last ?? ""
            #expect(
                result.text.replacing("S PIN_REPEATED\n", with: "").hasSuffix(
                    (asked == "GETPIN" ? "D typed\n" : "") + "OK\nOK\nOK\n"
                ),
                "\(lines)"
            )
            // After a reset only options are left.
            let told =
                lines.contains("RESET")
                ? ["GETPIN"] : lines.suffix(lines.filter { $0 == "GETPIN" }.count == 2 ? 0 : 99)
            let expected =
                ["started --display :7316", "OPTION allow-external-password-cache"]
                + (told.isEmpty ? [key, "GETPIN"] : told) + ["SETOK yes", "BYE"]
            #expect(person == expected.map { $0 + "\n" }.joined(), "\(lines)")
        }

        // Without pinentry, and where pinentry is this program: an error of gpg's, and of ours.
        unlink(home + "/bin/pinentry")
        try FileManager.default.createSymbolicLink(
            atPath: home + "/bin/pinentry",
            withDestinationPath: Programs.touchstone
        )
        let none = try await run(home + "/bin/pinentry-touchstone", input: "GETPIN\nBYE\n")
        #expect(
            none.status == 1 && none.text.hasSuffix("ERR 83886165 No pinentry <Pinentry>\n"),
            "\(none.text)"
        )
        #expect(none.errors.contains("is touchstone itself"), "\(none.errors)")
    }
}
