import Foundation
import KeychainModel
import ScriptedDaemon
import Testing
import TouchstoneTesting

@Suite(
    "Export for other programs",
    .enabled(if: RealKeychain.isPossible, "touchstone and touchstoned are not both built")
)
struct ExportTests {
    private let keychain: RealKeychain
    private var file: String { keychain.home.path + "/export.json" }

    init() async throws { keychain = try await RealKeychain.ready() }

    /// The export as Foundation reads it.
    private func object() throws -> [String: Any] {
        let data = try Data(contentsOf: URL(fileURLWithPath: file))
        return try #require(try JSONSerialization.jsonObject(with: data) as? [String: Any])
    }

    @Test(
        "an export asks for the passcode, has mode 600, and another keychain that imports it has the same secrets"
    )
    func roundTrip() async throws {
        for export in [ImportSamples.keepassxc, ImportSamples.bitwarden, ImportSamples.cxf] {
            #expect(try await keychain.importing(export, "--prefix", "all/").status == 0)
        }
        #expect(
            try await keychain.run("set", "token", "--require", "none", input: "a \"token\"\t\\ €").status
                == 0
        )
        let prompts = keychain.prompts
        let result = try await keychain.run("export", "--format", "cxf", file)
        #expect(
            result.status == 0 && result.text == "Secrets: 8. Written: 8. Left out: 0.\n",
            "\(result.errors)"
        )
        #expect(keychain.prompts == prompts + 1)
        #expect(try FileManager.default.attributesOfItem(atPath: file)[.posixPermissions] as? Int == 0o600)

        let other = try await RealKeychain.ready()
        let imported = try await other.run("import", file, "--require", "none")
        #expect(
            imported.status == 0 && imported.text.contains("Stored: 8. "),
            "\(imported.text) \(imported.errors)"
        )
        let names = try await keychain.names()
        #expect(try await other.names() == names)
        for name in names {
            let (before, after) = (
                try await keychain.run("get", name).text, try await other.run("get", name).text
            )
            // The label and the issuer of a one-time key are not in CXF as they are in a URI.
            let parts = [before, after].map { text in
                text.split(separator: "\n").filter { !$0.hasPrefix("otpauth://") }
            }
            #expect(parts[0] == parts[1], "\(name)")
            guard before.contains("otpauth://") else { continue }
            let codes = [try await keychain.run("totp", name).text, try await other.run("totp", name).text]
            let again = [try await keychain.run("totp", name).text, try await other.run("totp", name).text]
            // A new code may begin between two of them.
            #expect(codes[0] == codes[1] || again[0] == again[1], "\(name)")
        }
    }

    @Test("an export has the structure of CXF 1.0")
    func structure() async throws {
        let secret =
            "pw\nuser: me\nurl: https://a.example\nPIN: 1\notpauth://totp/a?secret=jbsw y3dp&digits=8\nnote\nmore"
        #expect(try await keychain.run("set", "work/mail", "--require", "none", input: secret).status == 0)
        #expect(try await keychain.run("export", file).status == 0)
        let export = try object()
        #expect(export["version"] as? [String: Int] == ["major": 1, "minor": 0])
        #expect(export["exporterDisplayName"] as? String == "Touchstone" && export["exporterRpId"] is String)
        #expect(export["timestamp"] is Int)
        let account = try #require((export["accounts"] as? [[String: Any]])?.first)
        let item = try #require((account["items"] as? [[String: Any]])?.first)
        #expect(item["title"] as? String == "mail" && item["creationAt"] is Int && item["modifiedAt"] is Int)
        #expect((item["scope"] as? [String: Any])?["urls"] as? [String] == ["https://a.example"])
        let credentials = try #require(item["credentials"] as? [[String: Any]])
        #expect(credentials.map { $0["type"] as? String } == ["basic-auth", "totp", "custom-fields", "note"])
        let password = credentials[0]["password"] as? [String: String]
        #expect(password == ["fieldType": "concealed-string", "value": "pw"])
        #expect(credentials[1]["secret"] as? String == "JBSWY3DP" && credentials[1]["digits"] as? Int == 8)
        #expect(credentials[1]["period"] as? Int == 30 && credentials[1]["algorithm"] as? String == "sha1")
        #expect((credentials[3]["content"] as? [String: String])?["value"] == "note\nmore")
        let collection = try #require((account["collections"] as? [[String: Any]])?.first)
        #expect(collection["title"] as? String == "work")
        #expect((collection["items"] as? [[String: String]])?.first?["item"] == item["id"] as? String)
    }

    @Test("without the passcode nothing is written, an existing file stays, and what is no text is named")
    func refusals() async throws {
        #expect(try await keychain.run("set", "text", "--require", "none", input: "a").status == 0)
        #expect(try await keychain.run("set", "zero", "--require", "none", input: "a\0b").status == 0)
        try keychain.setCancels(true)
        #expect(try await keychain.run("export", file).status == 4)
        #expect(!FileManager.default.fileExists(atPath: file))
        try keychain.setCancels(false)
        let result = try await keychain.run("export", file)
        #expect(result.status == 0)
        #expect(result.text == "left out  zero: it is not text\nSecrets: 2. Written: 1. Left out: 1.\n")
        let again = try await keychain.run("export", file)
        #expect(again.status == 10 && again.errors.contains("hint: use --replace to replace it"))
        #expect(try await keychain.run("export", file, "--replace").status == 0)
        #expect(try await keychain.run("export", file, "--format", "csv", "--replace").status == 64)
    }
}
