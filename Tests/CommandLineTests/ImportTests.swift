import Foundation
import KeychainModel
import ScriptedDaemon
import Testing
import TouchstoneTesting

extension RealKeychain {
    /// Writes an export to a file and imports it; nothing is required of what it stores.
    func importing(_ export: String, _ options: String...) async throws -> CommandResult {
        try await importing(octets: Array(export.utf8), options)
    }

    func importing(octets: [UInt8], _ options: [String] = []) async throws -> CommandResult {
        try Data(octets).write(to: URL(fileURLWithPath: exportFile))
        return try await run(all: ["import", exportFile, "--require", "none"] + options)
    }

    var exportFile: String { home.path + "/an export" }

    /// The names of all secrets.
    func names() async throws -> [String] {
        try await run("list").text.split(separator: "\n").map { line in String(line.prefix { $0 != "\t" }) }
    }

    func field(_ field: String, _ name: String) async throws -> String {
        try await run("get", name, "--field", field).text
    }
}

@Suite(
    "Import from other programs' exports",
    .enabled(if: RealKeychain.isPossible, "touchstone and touchstoned are not both built")
)
struct ImportTests {
    private let keychain: RealKeychain

    init() async throws { keychain = try await RealKeychain.ready() }

    private func checkTOTP(_ name: String, digits: Int) async throws {
        let code = try await keychain.run("totp", name)
        #expect(code.status == 0, "\(code.errors)")
        #expect(code.text.utf8.count == digits + 1 && code.text.dropLast().allSatisfy(\.isNumber))
    }

    @Test(
        "KeePassXC: groups become folders; fields, a one-time key and notes are there, old versions and the recycle bin are not"
    )
    func keepassxc() async throws {
        let result = try await keychain.importing(ImportSamples.keepassxc)
        #expect(result.status == 0, "\(result.errors)")
        #expect(
            result.text == """
                added     Bank
                left out  Bank: an attachment
                added     Work-Mail/Old/IMAP
                Entries: 2. Stored: 2. The same already: 0. Kept: 0.

                """
        )
        #expect(try await keychain.names() == ["Bank", "Work-Mail/Old/IMAP"])
        let whole = """
            a<b&€"
            user: me
            url: https://bank.example
            PIN card: 1234
            otpauth://totp/Bank:me?secret=JBSWY3DPEHPK3PXP&period=30&digits=6&issuer=Bank
            Key:
            -----BEGIN-----
            Proc-Type: 4
            -----END-----
            first line
            user: not the user
            """
        let lines = whole.split(separator: "\n").map(String.init)
        let stored = try await keychain.run("get", "Bank").text.split(separator: "\n").map(String.init)
        #expect(stored.first == lines.first && stored.sorted() == lines.sorted(), "\(stored)")
        #expect(try await keychain.field("user", "Bank") == "me")
        #expect(try await keychain.field("pin card", "Bank") == "1234")
        #expect(try await keychain.run("get", "Work-Mail/Old/IMAP").text == "<pw>&")
        try await checkTOTP("Bank", digits: 6)
        #expect(try await keychain.run("show", "Bank").text.contains("Requires:   nothing\n"))
        #expect(result.errors.contains("shred -u \(keychain.exportFile.replacing(" ", with: "\\ ")). "))
        #expect(FileManager.default.fileExists(atPath: keychain.exportFile))
    }

    @Test(
        "Bitwarden: folders, escapes, several addresses, a key in base32; a passkey is named as left out, the trash is not imported"
    )
    func bitwarden() async throws {
        let result = try await keychain.importing(ImportSamples.bitwarden)
        #expect(result.status == 0, "\(result.errors)")
        #expect(result.text.contains("left out  Social/Forums/Forum: a passkey\n"))
        #expect(try await keychain.names() == ["Card", "Note", "Social/Forums/Forum"])
        #expect(
            try await keychain.run("get", "Social/Forums/Forum").text == """
                pass/word
                user: mü😀
                url: https://forum.example/login
                url 2: https://forum2.example
                PIN: 99\\1
                member: true
                otpauth://totp/Forum?secret=jbswy3dpehpk3pxp
                a "note"
                of two lines
                """
        )
        try await checkTOTP("Social/Forums/Forum", digits: 6)
        #expect(try await keychain.run("get", "Note").text == "only a note")
        #expect(try await keychain.field("number", "Card") == "4111")
        #expect(try await keychain.field("password", "Card").isEmpty)
    }

    @Test("Chrome: quotes, line breaks; accounts of one site get their user in the name, and then a number")
    func chrome() async throws {
        let result = try await keychain.importing(ImportSamples.chrome, "--prefix", "web/")
        #expect(result.status == 0, "\(result.errors)")
        #expect(
            try await keychain.names()
                == ["web/site.example", "web/site.example (2)", "web/site.example (you)"]
        )
        #expect(try await keychain.run("get", "web/site.example").text.hasPrefix("a,\"b\" \nc\nuser: me\n"))
        #expect(try await keychain.field("password", "web/site.example (you)") == "second")
        #expect(try await keychain.field("password", "web/site.example (2)") == "third")
    }

    @Test(
        "columns that a format does not have become fields if the format is named, and an entry without a title gets the host's name"
    )
    func columns() async throws {
        let table = "url,username,password,totp,name\nhttps://a.example/x,me,pw,JBSWY3DP,\n"
        #expect(try await keychain.importing(table, "--format", "chrome").status == 0)
        let text = try await keychain.run("get", "a.example").text
        #expect(text == "pw\nuser: me\nurl: https://a.example/x\ntotp: JBSWY3DP")
        let item =
            #"{"type": 7, "name": "", "login": {"uris": [{"uri": "https://b.example"}]}, "notes": "n"}"#
        let result = try await keychain.importing(#"{"encrypted": false, "items": [\#(item)]}"#)
        let reason = "what only items of its kind have: kind 7 is not known"
        #expect(result.text.contains("left out  b.example: \(reason)\n"))
        #expect(try await keychain.run("get", "b.example").text == "\nurl: https://b.example\nn")
    }

    @Test(
        "Firefox: the host is the title; 1Password: a one-time key, tags and notes; with a byte order mark too"
    )
    func tables() async throws {
        #expect(try await keychain.importing("\u{FEFF}" + ImportSamples.firefox).status == 0)
        #expect(try await keychain.names() == ["router.example", "shop.example:8443"])
        #expect(try await keychain.field("password", "shop.example:8443") == "pw \"1\" x")
        #expect(try await keychain.field("realm", "router.example") == "Router")
        #expect(try await keychain.importing(ImportSamples.onePassword).status == 0)
        #expect(
            try await keychain.run("get", "Git").text == """
                pw
                user: me
                url: https://git.example
                tags: work;code
                otpauth://totp/Git?secret=JBSWY3DPEHPK3PXP
                line 1
                line 2
                """
        )
        try await checkTOTP("Git", digits: 6)
    }

    @Test("CXF: collections become folders; what it has no place for is named as left out")
    func cxf() async throws {
        let result = try await keychain.importing(ImportSamples.cxf)
        #expect(result.status == 0, "\(result.errors)")
        #expect(result.text.contains("left out  Work/Mail/IMAP: a passkey\n"))
        #expect(result.text.contains("left out  Wi-Fi: a one-time key of an unknown kind\n"))
        #expect(
            try await keychain.run("get", "Work/Mail/IMAP").text == """
                cxf pw
                user: jane
                url: https://mail.example
                PIN: 42
                otpauth://totp/IMAP?secret=JBSWY3DPEHPK3PXP&algorithm=SHA256&digits=8&period=60
                a note
                """
        )
        try await checkTOTP("Work/Mail/IMAP", digits: 8)
        #expect(try await keychain.field("password", "Wi-Fi") == "wifi pw")
        #expect(try await keychain.field("ssid", "Wi-Fi") == "home")
    }

    @Test(
        "an export comes from standard input too, and secrets require a finger or the passcode unless something else is said"
    )
    func input() async throws {
        let result = try await keychain.run("import", "-", input: ImportSamples.onePassword)
        #expect(result.status == 0, "\(result.errors)")
        #expect(result.errors.isEmpty)
        #expect(try await keychain.run("list").text.hasPrefix("Git\teither\t"))
    }

    @Test("titles with slashes, control and format characters, of any length and none become valid names")
    func titles() async throws {
        let long = String(repeating: "ä", count: 300)
        let titles = [#"a/b\u001b[31m"#, #"\u202Etxt "#, "", long, long + "b"]
        let items = titles.map { #"{"name": "\#($0)", "login": {"username": "", "password": "x"}}"# }
        let export = #"{"encrypted": false, "folders": [], "items": [\#(items.joined(separator: ","))]}"#
        let result = try await keychain.importing(export)
        #expect(result.status == 0, "\(result.errors)")
        #expect(
            result.text.unicodeScalars.allSatisfy { $0 == "\n" || $0.properties.generalCategory != .control }
        )
        let names = try await keychain.names()
        #expect(
            names.count == 5 && names.contains("a-b_[31m") && names.contains("_txt")
                && names.contains("entry")
        )
        #expect(names.allSatisfy { $0.utf8.count <= 255 })
    }
}

@Suite(
    "Repeated imports",
    .enabled(if: RealKeychain.isPossible, "touchstone and touchstoned are not both built")
)
struct ImportRepetitionTests {
    private let keychain: RealKeychain

    init() async throws { keychain = try await RealKeychain.ready() }

    private func chrome(_ password: String) -> String {
        "name,url,username,password\na,https://a.example,me,\(password)\nb,https://b.example,me,same\n"
    }

    @Test("what is there already is not stored again, and one prompt is enough to compare it all")
    func again() async throws {
        for export in [
            ImportSamples.bitwarden, ImportSamples.chrome, ImportSamples.cxf, ImportSamples.keepassxc,
        ] {
            try Data(export.utf8).write(to: URL(fileURLWithPath: keychain.exportFile))
            #expect(try await keychain.run("import", keychain.exportFile).status == 0)
            let names = try await keychain.names()
            let prompts = keychain.prompts
            let again = try await keychain.run("import", keychain.exportFile)
            #expect(again.status == 0, "\(again.text) \(again.errors)")
            #expect(again.text.contains("Stored: 0. ") && !again.text.contains("added"))
            #expect(keychain.prompts == prompts + 1)
            #expect(try await keychain.names() == names)
        }
    }

    @Test("another secret of the same name is kept and named, unless --on-conflict says otherwise")
    func conflict() async throws {
        #expect(try await keychain.importing(chrome("one")).status == 0)
        let kept = try await keychain.importing(chrome("two"))
        #expect(kept.status == 10)
        #expect(
            kept.text == """
                kept      a, which differs; the one to import was not stored
                Entries: 2. Stored: 0. The same already: 1. Kept: 1.

                """
        )
        #expect(kept.errors.contains("error: the keychain has other secrets in the place of 1 of the export"))
        #expect(try await keychain.field("password", "a") == "one")
        let both = try await keychain.importing(chrome("two"), "--on-conflict", "both")
        #expect(both.status == 0 && both.text.contains("added     a, which differs, as a (import)\n"))
        #expect(try await keychain.field("password", "a (import)") == "two")
        #expect(
            try await keychain.importing(chrome("two"), "--on-conflict", "both").text.contains("Stored: 0. ")
        )
        #expect(
            try await keychain.importing(chrome("3"), "--on-conflict", "both").text.contains(
                "as a (import 2)\n"
            )
        )
        let replaced = try await keychain.importing(chrome("four"), "--on-conflict", "replace")
        #expect(replaced.status == 0 && replaced.text.contains("replaced  a, which differed\n"))
        #expect(try await keychain.field("password", "a") == "four")
        #expect(try await keychain.names() == ["a", "a (import 2)", "a (import)", "b"])
    }

    @Test("a refused prompt stores nothing, and an import of which a part is stored is completed")
    func parts() async throws {
        #expect(try await keychain.importing(chrome("one")).status == 0)
        #expect(try await keychain.run("require", "a", "either").status == 0)
        #expect(try await keychain.run("delete", "b", "--yes").status == 0)
        try keychain.setCancels(true)
        #expect(try await keychain.importing(chrome("one")).status == 4)
        #expect(try await keychain.names() == ["a"])
        try keychain.setCancels(false)
        let rest = try await keychain.importing(chrome("one"))
        #expect(rest.text == "added     b\nEntries: 2. Stored: 1. The same already: 1. Kept: 0.\n")
    }

    @Test(
        "--dry-run names what would come, with no prompt and without storing anything; also as JSON, and without a keychain"
    )
    func dryRun() async throws {
        #expect(try await keychain.importing(chrome("one")).status == 0)
        #expect(try await keychain.run("require", "a", "either").status == 0)
        let prompts = keychain.prompts
        let export = chrome("two") + "c,,,new\n"
        let dry = try await keychain.importing(export, "--dry-run")
        #expect(dry.status == 0 && dry.errors.isEmpty)
        #expect(
            dry.text == """
                present   a, which is compared when it is imported
                present   b, which is compared when it is imported
                new       c
                Entries: 3. New: 1. Present: 2.

                """
        )
        #expect(keychain.prompts == prompts)
        #expect(try await keychain.names() == ["a", "b"])
        let json = try await keychain.importing(export, "--dry-run", "--json").text
        let object = try #require(try JSONSerialization.jsonObject(with: Data(json.utf8)) as? [String: Any])
        let entries = try #require(object["entries"] as? [[String: Any]])
        #expect(object["format"] as? String == "chrome" && object["dryRun"] as? Bool == true)
        #expect(entries.map { $0["outcome"] as? String } == ["present", "present", "new"])
        let none = try await RealKeychain().importing(export, "--dry-run")
        #expect(none.status == 0 && none.text.contains("New: 3."))
        #expect(none.errors == "What the keychain has is not known: it is locked, or cannot be reached.\n")
    }

    @Test("the results of an import are JSON with --json, and hold no secret")
    func json() async throws {
        let result = try await keychain.importing(ImportSamples.cxf, "--json")
        let object = try #require(
            try JSONSerialization.jsonObject(with: Data(result.output)) as? [String: Any]
        )
        let entries = try #require(object["entries"] as? [[String: Any]])
        #expect(entries.map { $0["name"] as? String } == ["Work/Mail/IMAP", "Wi-Fi"])
        #expect(
            entries.map { $0["leftOut"] as? [String] } == [
                ["a passkey"], ["a one-time key of an unknown kind"],
            ]
        )
        #expect(!(result.text + result.errors).contains("cxf pw"))
    }
}
