import Foundation
import KeychainModel
import ScriptedDaemon
import Testing
import TouchstoneTesting

/// A store of pass 1.7.4, encrypted by the installed gpg for a key without a passphrase.
private final class SampleStore: Sendable {
    static let gpg = "/usr/bin/gpg"

    /// gpg-agent's socket is in it, so the path has to be short.
    let keys: TemporaryDirectory
    let directory: TemporaryDirectory

    var path: String { directory.path + "/store" }

    init() async throws {
        keys = try TemporaryDirectory()
        directory = try TemporaryDirectory()
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        try "test@touchstone.example\n".write(toFile: path + "/.gpg-id", atomically: false, encoding: .utf8)
        try await gpg(["--quick-gen-key", "test@touchstone.example", "rsa2048", "encrypt", "never"])
    }

    deinit {
        let end = Process()
        end.executableURL = URL(fileURLWithPath: "/usr/bin/gpgconf")
        end.arguments = ["--homedir", keys.path, "--kill", "gpg-agent"]
        try? end.run()
        end.waitUntilExit()
    }

    /// Runs gpg with the store's keys.
    func gpg(_ arguments: [String], input: String = "") async throws {
        let home = try TemporaryHome()
        var run = CommandRun(arguments: ["--batch", "--quiet", "--passphrase", ""] + arguments, home: home)
        run.program = Self.gpg
        run.environment = ["GNUPGHOME": keys.path]
        run.input = .octets(Array(input.utf8))
        let result = try await run.run()
        guard result.status == 0 else { throw TestKitError.unexpected(result.errors) }
    }

    func insert(_ name: String, _ text: String) async throws {
        let file = "\(path)/\(name).gpg"
        let folder = URL(fileURLWithPath: file).deletingLastPathComponent()
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        try await gpg(
            ["--trust-model", "always", "-r", "test@touchstone.example", "--encrypt", "-o", file],
            input: text
        )
    }
}

@Suite(
    "Import from pass",
    .enabled(if: RealKeychain.isPossible, "touchstone and touchstoned are not both built"),
    .enabled(if: Programs.isBuilt(SampleStore.gpg), "gpg is not installed")
)
struct ImportPassTests {
    @Test(
        "a store is imported as it is, with its folders; links, other files and what gpg cannot decrypt are named"
    )
    func store() async throws {
        let store = try await SampleStore()
        let whole = "pw\nlogin: me\notpauth://totp/a?secret=JBSWY3DPEHPK3PXP\n"
        try await store.insert("mail", "mail pw\n")
        try await store.insert("web/site.example/me", whole)
        try await store.insert("web/-dash", "dashed")
        let files = FileManager.default
        try files.createDirectory(atPath: store.path + "/.git", withIntermediateDirectories: true)
        try files.createSymbolicLink(
            atPath: store.path + "/web/linked.gpg",
            withDestinationPath: "../mail.gpg"
        )
        try files.createSymbolicLink(atPath: store.path + "/outside", withDestinationPath: "/")
        try "text".write(toFile: store.path + "/README", atomically: false, encoding: .utf8)
        try "no message".write(toFile: store.path + "/web/broken.gpg", atomically: false, encoding: .utf8)

        let keychain = try await RealKeychain.ready(variables: ["GNUPGHOME": store.keys.path])
        let dry = try await keychain.run("import", store.path, "--dry-run")
        #expect(dry.status == 0 && dry.text.contains("new       web/site.example/me\n"), "\(dry.errors)")
        let result = try await keychain.run("import", store.path, "--require", "none", "--prefix", "pass/")
        #expect(
            result.text == """
                left out  pass/README: a file that is not encrypted by gpg
                added     pass/mail
                left out  pass/outside: a symbolic link, which is not followed
                added     pass/web/-dash
                failed    pass/web/broken: gpg cannot decrypt web/broken.gpg (its exit status is 2)
                left out  pass/web/linked.gpg: a symbolic link, which is not followed
                added     pass/web/site.example/me
                Entries: 7. Stored: 3. The same already: 0. Kept: 0. Left out: 3. Failed: 1.

                """,
            "\(result.errors)"
        )
        #expect(result.status == 1 && result.errors.contains("error: 1 of 7 entries could not be read"))
        #expect(result.errors.contains("rm -r \(store.path); its git remotes and backups have copies."))
        #expect(try await keychain.run("get", "pass/mail").text == "mail pw")
        #expect(try await keychain.run("get", "pass/web/site.example/me").text == String(whole.dropLast()))
        #expect(try await keychain.field("login", "pass/web/site.example/me") == "me")
        #expect(try await keychain.run("totp", "pass/web/site.example/me").status == 0)
        #expect(try await keychain.run("import", store.path, "--prefix", "pass/").text.contains("Stored: 0."))
    }

    @Test("without the key nothing is stored, and the error says what tells why")
    func missingKey() async throws {
        let store = try await SampleStore()
        try await store.insert("a", "one")
        try await store.insert("b", "two")
        let keychain = try await RealKeychain.ready(variables: ["GNUPGHOME": store.directory.path])
        let result = try await keychain.run("import", store.path)
        #expect(result.status == 1 && result.text.isEmpty)
        #expect(result.errors.contains("error: gpg cannot decrypt a.gpg (its exit status is 2)\n"))
        #expect(result.errors.contains("hint: gpg --decrypt \(store.path)/a.gpg says why"))
        #expect(try await keychain.names().isEmpty)
    }

    @Test("without gpg the error says so")
    func missingProgram() async throws {
        let home = try TemporaryHome()
        var run = CommandRun("import", home.path, home: home)
        run.environment = ["PATH": "/nonexistent"]
        let result = try await run.run()
        #expect(result.status == 7)
        #expect(
            result.errors
                == "error: decrypting a password store needs gpg, which is not installed\nhint: install GnuPG\n"
        )
    }
}
