import Foundation
import KeychainModel
import ScriptedDaemon
import Testing
import TouchstoneTesting

/// No daemon is needed: all of this is refused before the keychain is asked for anything.
@Suite("Exports that are refused")
struct ImportRefusalTests {
    private let home: TemporaryHome

    init() throws { home = try TemporaryHome() }

    private func refusal(_ export: [UInt8], _ options: String...) async throws -> CommandResult {
        let file = home.path + "/export"
        try Data(export).write(to: URL(fileURLWithPath: file))
        return try await CommandRun(arguments: ["import", file, "--dry-run"] + options, home: home).run()
    }

    /// A refused export: what the error says.
    struct Case: Sendable, CustomTestStringConvertible {
        let octets: [UInt8]
        let message: String
        var options: [String] = []

        init(_ text: String, _ message: String) { (octets, self.message) = (Array(text.utf8), message) }
        init(octets: [UInt8], _ message: String) { (self.octets, self.message) = (octets, message) }

        var testDescription: String { message }
    }

    private static func keepass(_ inner: String) -> String {
        "<KeePassFile><Root><Group>\(inner)</Group></Root></KeePassFile>"
    }
    private static func value(_ text: String) -> String {
        keepass("<Entry><String><Key>Password</Key><Value>\(text)</Value></String></Entry>")
    }

    private static let xml: [Case] = [
        Case(
            "<?xml version=\"1.0\"?><!DOCTYPE a [<!ENTITY b SYSTEM \"file:///etc/passwd\">]><KeePassFile>&b;</KeePassFile>",
            "a document type or an entity is declared, which is refused"
        ),
        Case(value("&hunter2;"), "there is an entity that XML does not define, which is refused"),
        Case(value("&#0;"), "there is an entity that XML does not define"),
        Case(value("hunter2\u{1}"), "the XML has a control character"),
        Case(value("hunter2<b/>"), "there is an element where only text is expected"),
        Case(value("<?php hunter2?>"), "there is a processing instruction, which is refused"),
        Case(value("a]]>b"), "the XML is malformed"),
        Case(keepass("<Entry>"), "the XML is malformed"),
        Case("<KeePassFile><Root>", "the XML ends too early"),
        Case(keepass("") + "<KeePassFile/>", "the XML is malformed"),
        Case("<?xml version=\"1.0\"?><other/>", "the root element is not KeePassFile"),
        Case(
            keepass("<Entry><String><Key>Password</Key></String></Entry>"),
            "a String element has no Key or no Value"
        ),
        Case(
            keepass(
                "<Entry><String><Key>Password</Key><Value Protected=\"True\">aaaa</Value></String></Entry>"
            ),
            "its values are encrypted"
        ),
        Case(
            keepass(String(repeating: "<Group>", count: 80) + String(repeating: "</Group>", count: 80)),
            "it is nested deeper than 64 levels, the limit"
        ),
        Case(
            keepass(String(repeating: "<Entry></Entry>", count: 10_001)),
            "it has more than 10000 entries, the limit"
        ),
        Case(octets: [0x03, 0xD9, 0xA2, 0x9A, 0x67, 0xFB, 0x4B, 0xB5], "is the encrypted database itself"),
    ]

    private static func items(_ items: String) -> String { #"{"encrypted": false, "items": [\#(items)]}"# }

    private static let json: [Case] = [
        Case(items(#"{"name": "a", "name": "hunter2"}"#), "an object has the same name twice"),
        Case(items(#"{"name": "hunter2\u0000"}"#), "a JSON string has a NUL character"),
        Case(items(#"{"name": "hunter2\ud800"}"#), "an escape in a JSON string is malformed"),
        Case(items(#"{"name": "hunter2\q"}"#), "an escape in a JSON string is malformed"),
        Case(items("{\"name\": \"hunter2\n\"}"), "the JSON is malformed"),
        Case(items(#"{"name": 01}"#), "the JSON is malformed"),
        Case(items("") + "x", "something follows the JSON value"),
        Case(#"{"encrypted": false, "items": ["#, "the JSON ends too early"),
        Case(#"{"encrypted": true, "items": []}"#, "it is encrypted"),
        Case(#"{"encrypted": false, "items": {}}"#, "it has no list of items"),
        Case(#"{"accounts": []}"#, "its version is not 1"),
        Case(#"{"version": {"major": 2, "minor": 0}, "accounts": []}"#, "its version is not 1"),
        Case(#"{"version": {"major": 1, "minor": 0}, "exporterRpId": "a"}"#, "it has no list of accounts"),
        Case("{\"a\":" + String(repeating: "[", count: 100), "it is nested deeper than 64 levels, the limit"),
        Case(
            items(#"{"fields": [\#(String(repeating: "0,", count: 1_000_000))0]}"#),
            "it has more than 1000000 values, the limit"
        ),
        Case(
            items(String(repeating: "{},", count: 10_000) + "{}"),
            "it has more than 10000 entries, the limit"
        ),
    ]

    private static let chrome = "name,url,username,password\n"

    private static let others: [Case] = [
        Case(chrome + "a,b,c\n", "a row has 3 cells, and the header 4"),
        Case(chrome + "a,b,c,\"hunter2", "a quoted cell does not end"),
        Case(chrome + "a,b,c,\"hunter2\"x", "something follows a quoted cell"),
        Case(chrome + "a,b,c,hunter\"2", "a quote is inside a cell that is not quoted"),
        Case("name,url,username,password,password\n", "its header names a column twice"),
        Case(
            chrome + String(repeating: "a,b,c,d\n", count: 10_001),
            "it has more than 10000 entries, the limit"
        ),
        Case("some text\n", "its format is not known"),
        // LastPass: a table with the columns of Chrome and others, which would be lost.
        Case("url,username,password,totp,extra,name,grouping,fav\n", "its format is not known"),
        Case(#"{"a": 1}"#, "its format is not known"),
        Case("", "is empty"),
        Case(
            octets: Array("name,url,username,password\na,b,c,hunter2".utf8) + [0xFF],
            "is not UTF-8, at byte 40"
        ),
        Case(octets: Array("name,url".utf8) + [0], "has a NUL byte, at byte 8"),
        Case(octets: [0xFF, 0xFE, 0x6E, 0], "is UTF-16, not UTF-8"),
        Case(octets: Array("PK\u{3}\u{4}rest".utf8), "is a zip archive"),
    ]

    @Test(
        "a malformed or hostile export is refused with its reason, and none of it is quoted",
        arguments: xml + json + others
    )
    func refused(refused: Case) async throws {
        let result = try await refusal(refused.octets)
        #expect(result.status == 1)
        #expect(result.text.isEmpty)
        #expect(
            result.errors.hasPrefix("error: ") && result.errors.contains(refused.message),
            "\(result.errors)"
        )
        #expect(!result.errors.contains("hunter2"), "\(result.errors)")
    }

    @Test(
        "an unknown format is an error that lists the known ones, and so is a file of another format than the one named"
    )
    func formats() async throws {
        let unknown = try await refusal(Array("text".utf8))
        #expect(
            unknown.errors.contains(
                "hint: formats are pass, keepassxc, bitwarden, chrome, firefox, 1password, cxf; "
            )
        )
        let named = try await refusal([], "--format", "lastpass")
        #expect(named.status == 64)
        for name in ["pass", "keepassxc", "bitwarden", "chrome", "firefox", "1password", "cxf"] {
            #expect(named.errors.contains("- \(name)"), "\(named.errors)")
        }
        let other = try await refusal(Array(ImportSamples.firefox.utf8), "--format", "chrome")
        #expect(other.status == 1)
        #expect(
            other.errors.contains(
                "cannot be imported as Chrome's CSV: its header is not that of Chrome's CSV"
            )
        )
        #expect(try await refusal(Array(ImportSamples.chrome.utf8), "--format", "keepassxc").status == 1)
    }

    @Test("a line is named where the fault is")
    func line() async throws {
        let result = try await refusal(Array((Self.chrome + "a,b,c,d\na,b,c\n").utf8))
        #expect(result.errors.contains("in line 3: a row has 3 cells"))
    }

    @Test("a file that is too long, a missing one, a directory that is no store, and a terminal are refused")
    func places() async throws {
        let file = home.path + "/long"
        #expect(FileManager.default.createFile(atPath: file, contents: nil))
        #expect(truncate(file, off_t(64 << 20) + 1) == 0)
        let long = try await CommandRun("import", file, home: home).run()
        #expect(long.status == 1 && long.errors.contains("is longer than 64 MiB, the limit for an export"))
        let missing = try await CommandRun("import", home.path + "/missing", home: home).run()
        #expect(missing.status == 1 && missing.errors.contains("cannot read \(home.path)/missing: "))
        let directory = try await CommandRun("import", home.path, home: home).run()
        #expect(directory.status == 1 && directory.errors.contains("it has no file .gpg-id"))
        let named = try await CommandRun("import", home.path, "--format", "cxf", home: home).run()
        #expect(
            named.status == 64 && named.errors.contains("is a directory; only pass has its secrets in one")
        )
        var run = CommandRun("import", "-", home: home)
        run.terminal = try PseudoTerminal()
        run.input = .terminal
        let terminal = try await run.run()
        #expect(terminal.status == 64 && terminal.errors.contains("standard input is a terminal"))
    }

    @Test("--prefix ends with a slash and leaves room for a title")
    func prefixes() async throws {
        #expect(
            try await refusal(Array(Self.chrome.utf8), "--prefix", "work").errors.contains(
                "a prefix ends with '/'"
            )
        )
        let long = String(repeating: "a", count: 150) + "/"
        #expect(try await refusal(Array(Self.chrome.utf8), "--prefix", long).status == 64)
    }
}
