import Foundation
import Glibc
import KeychainModel
import ScriptedDaemon
import Testing
import TouchstoneTesting

@Suite(
    "Credential helpers",
    .enabled(if: RealKeychain.isPossible, "touchstone and touchstoned are not both built")
)
struct CredentialTests {
    @Test("git gets approved passwords by user and path, and rejected ones are forgotten")
    func git() async throws {
        let place = try await CredentialPlace()
        let site = "protocol=https\nhost=git.example:8443\n"
        #expect(try await place.git("fill", site).status == 128)
        #expect(try await place.git("approve", site + "username=alice\npassword=p=1 ü\n").status == 0)
        #expect(try await place.git("approve", site + "username=bob\npassword=two\n").status == 0)
        #expect(try await place.git("fill", site + "username=alice\n").text.contains("password=p=1 ü\n"))
        #expect(try await place.git("fill", site + "username=bob\n").text.contains("password=two\n"))
        #expect(try await place.git("fill", site).text.contains("username=bob\npassword=two\n"))
        let list = try await place.keychain.run("list").text
        #expect(list.contains("git:https://alice@git.example:8443\tnone\t"))
        // A rejected password that differs from the stored one does not delete it.
        #expect(try await place.git("reject", site + "username=bob\npassword=other\n").status == 0)
        #expect(try await place.git("fill", site + "username=bob\n").text.contains("password=two\n"))
        #expect(try await place.git("reject", site + "username=bob\npassword=two\n").status == 0)
        #expect(try await place.git("fill", site + "username=bob\n").status == 128)
        #expect(try await place.git("fill", site + "username=alice\n").status == 0)
    }

    @Test("expiry and refresh token are kept, paths are distinguished, and unknown attributes are ignored")
    func attributes() async throws {
        let place = try await CredentialPlace()
        let site = "protocol=https\nhost=h\npath=a/b.git\nusername=u\n"
        let full = site + "password=p\npassword_expiry_utc=9999999999\noauth_refresh_token=r t\n"
        #expect(try await place.helper("store", full).status == 0)
        #expect(
            try await place.helper("get", site).text
                == "username=u\npassword_expiry_utc=9999999999\npassword=p\noauth_refresh_token=r t\n"
        )
        #expect(try await place.helper("get", "protocol=https\nhost=h\npath=other\n").output.isEmpty)
        #expect(try await place.helper("get", "protocol=https\nhost=h\n").text.contains("username=u\n"))
        #expect(try await place.helper("get", "protocol=http\nhost=h\n").output.isEmpty)
        let typed =
            "capability[]=authtype\nprotocol=https\nhost=t\nusername=u\nauthtype=Bearer\ncredential=c\n"
        #expect(try await place.helper("store", typed).status == 0)
        let answer = try await place.helper("get", "capability[]=authtype\nprotocol=https\nhost=t\n").text
        #expect(answer == "capability[]=authtype\nusername=u\nauthtype=Bearer\ncredential=c\n")
        #expect(try await place.helper("fetch", site).status == 0)
        #expect(try await place.helper("capability", "").text == "version 0\ncapability authtype\n")
        #expect(try await place.helper("get", "nonsense\n").status == 1)
    }

    @Test("the configured requirement is applied, and a cancelled prompt ends git's command")
    func cancelled() async throws {
        let place = try await CredentialPlace()
        let site = "protocol=https\nhost=h\n"
        let stored = site + "username=u\npassword=p\n"
        let passcode = ["TOUCHSTONE_CREDENTIAL_REQUIRE": "passcode"]
        #expect(try await place.helper("store", stored, passcode).status == 0)
        // A misspelt requirement is no reason to store nothing silently.
        let misspelt = try await place.helper("store", stored, ["TOUCHSTONE_CREDENTIAL_REQUIRE": "blood"])
        #expect(misspelt.status == 64 && misspelt.errors.contains("blood"), "\(misspelt.errors)")
        #expect(try await place.keychain.run("list").text.contains("git:https://u@h\tpasscode"))
        let before = place.keychain.prompts
        #expect(try await place.git("fill", site).text.contains("password=p\n"))
        #expect(try await place.git("approve", stored).status == 0)
        #expect(place.keychain.prompts == before + 1)
        try place.keychain.setCancels(true)
        let cancelled = try await place.helper("get", site)
        #expect(cancelled.status == 4)
        #expect(cancelled.text == "quit=1\n")
        let fill = try await place.git("fill", site)
        #expect(fill.status == 128)
        #expect(fill.errors.contains("told us to quit"))
        #expect(try await place.keychain.run("show", "git:https://u@h").status == 0)
        // git's own configuration, for one URL.
        let config = place.keychain.home.path + "/.gitconfig"
        try "[touchstone \"https://two\"]\n  require = either\n".write(
            toFile: config,
            atomically: true,
            encoding: .utf8
        )
        #expect(
            try await place.helper("store", "protocol=https\nhost=two\nusername=u\npassword=p\n").status == 0
        )
        #expect(try await place.keychain.run("list").text.contains("git:https://u@two\teither"))
    }

    @Test("a locked keychain is not reported as an unknown credential")
    func locked() async throws {
        let place = try await CredentialPlace()
        #expect(
            try await place.helper("store", "protocol=https\nhost=h\nusername=u\npassword=p\n").status == 0
        )
        let login = "{\"ServerURL\":\"reg.example\",\"Username\":\"u\",\"Secret\":\"s\"}"
        #expect(try await place.docker("store", login).status == 0)
        #expect(try await place.keychain.run("lock").status == 0)
        try place.keychain.setCancels(true)
        let git = try await place.helper("get", "protocol=https\nhost=h\n")
        #expect(git.status == 4)
        #expect(git.text == "quit=1\n")
        let docker = try await place.docker("get", "reg.example")
        #expect(docker.status == 4)
        #expect(docker.text.hasPrefix("cancelled"))
        #expect(!docker.text.contains("not found"))
    }

    @Test("servers with odd names are kept apart, and every reply to docker is JSON")
    func oddServers() async throws {
        let place = try await CredentialPlace()
        let servers = [
            "https://a%20b", "https://a b", "https://a%2520b", "https://a%", "https://ü", "https://\u{202E}",
        ]
        for server in servers {
            let login = "{\"ServerURL\":\"\(server)\",\"Username\":\"u\",\"Secret\":\"of \(server)\"}"
            let stored = try await place.docker("store", login)
            #expect(stored.status == 0, "\(server): \(stored.text)")
        }
        struct Login: Decodable { let ServerURL, Secret: String }
        for server in servers {
            let got = try await place.docker("get", server)
            let login = try JSONDecoder().decode(Login.self, from: Data(got.text.utf8))
            #expect(login.ServerURL == server && login.Secret == "of \(server)", "\(got.text)")
        }
        // Bytes that are not UTF-8: alone, in the middle, and a character that is cut.
        for octets in [[0xFF], [0x61, 0xC3, 0x62], [0xED, 0xA0, 0x80], [0xF0, 0x9F]] as [[UInt8]] {
            let login =
                Array("{\"ServerURL\":\"https://".utf8) + octets
                + Array("\",\"Username\":\"u\",\"Secret\":\"s\"}".utf8)
            let stored = try await place.run("docker-credential-touchstone", ["store"], login)
            #expect(stored.status == 0, "\(octets): \(stored.text)")
            let got = try await place.run(
                "docker-credential-touchstone",
                ["get"],
                Array("https://".utf8) + octets
            )
            let found = try JSONDecoder().decode(Login.self, from: Data(got.text.utf8))
            #expect(found.Secret == "s" && found.ServerURL.contains("\u{FFFD}"))
        }
        let list = try await place.docker("list")
        let all = try JSONDecoder().decode([String: String].self, from: Data(list.text.utf8))
        #expect(Set(servers).isSubset(of: all.keys), "\(list.text)")
        #expect(!list.text.unicodeScalars.contains("\u{202E}"))
    }

    @Test("docker's credential protocol stores, gets, lists and erases logins")
    func docker() async throws {
        let place = try await CredentialPlace()
        let url = "https://index.docker.io/v1/"
        #expect(try await place.docker("get", url + "\n").status == 1)
        #expect(
            try await place.docker("get", url + "\n").text == "credentials not found in native keychain\n"
        )
        #expect(try await place.docker("list").text == "{}\n")
        let login =
            "{ \"ServerURL\": \"\(url)\", \"Username\": \"al\\\"ice\", \"Secret\": \"p\\\\\\u00fc\\ud83d\\ude00\\n\", \"x\": [1, {\"y\": null}] }"
        #expect(try await place.docker("store", login).status == 0)
        let got = try await place.docker("get", url)
        let object = try #require(JSONSerialization.jsonObject(with: Data(got.output)) as? [String: String])
        #expect(object == ["ServerURL": url, "Username": "al\"ice", "Secret": "p\\ü😀\n"])
        #expect(try await place.docker("store", login.replacing("ud83d", with: "ud83c")).status == 0)
        let list = try await place.docker("list")
        #expect(
            try JSONSerialization.jsonObject(with: Data(list.output)) as? [String: String] == [url: "al\"ice"]
        )
        #expect(try await place.keychain.run("list").text.hasPrefix("docker:\(url)\tnone\t"))
        #expect(try await place.docker("store", "{\"ServerURL\":\"\"}").text == "no credentials server URL\n")
        #expect(try await place.docker("store", "{\"ServerURL\":\"a\"}").text == "no credentials username\n")
        #expect(try await place.docker("store", "[]").status == 1)
        #expect(try await place.docker("erase", url).status == 0)
        #expect(try await place.docker("erase", url).text == "credentials not found in native keychain\n")
    }
}
