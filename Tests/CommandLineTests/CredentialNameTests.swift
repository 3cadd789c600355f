import Foundation
import KeychainModel
import ScriptedDaemon
import Testing
import TouchstoneTesting

/// The cells: both helpers; the name one byte shorter than the limit, at it, longer by one and two, and 4,096 bytes; ASCII,
/// characters of two to four bytes at each offset of the cut, and bytes that are no characters; the long part a server, a user or a
/// path; two that differ behind the cut only; and a server that is called like a shortened one.
@Suite(
    "The names of credentials",
    .enabled(if: RealKeychain.isPossible, "touchstone and touchstoned are not both built")
)
struct CredentialNameTests {
    private static let longest = 255
    private static let docker = "docker-credential-touchstone"
    private static let git = "git-credential-touchstone"

    private struct Login: Codable, Equatable { let ServerURL, Username, Secret: String }

    private static func login(_ server: String, _ secret: String) throws -> [UInt8] {
        Array(try JSONEncoder().encode(Login(ServerURL: server, Username: "u", Secret: secret)))
    }

    /// The names of the stored secrets, each with its requirement and date.
    private static func names(in place: CredentialPlace) async throws -> [String] {
        try await place.keychain.run("list").text.split(separator: "\n").map { line in
            String(line.prefix { $0 != "\t" })
        }
    }

    /// A name by its two parts; whole if it is short, else what the second part, the digest's input, is cut to.
    private static func expected(_ beginning: String, _ rest: String) async throws -> String {
        guard (beginning + rest).utf8.count > longest else { return beginning + rest }
        var run = CommandRun(home: try TemporaryHome())
        run.program = "/usr/bin/sha256sum"
        run.input = .octets(Array(rest.utf8))
        return beginning + "%SHA-256:" + (try await run.run().text.prefix(64))
    }

    @Test(
        "docker's servers of any length are stored, given, listed and erased, under their own name up to 255 bytes",
        arguments: [254, 255, 256, 257, 4096]
    )
    func dockerLengths(length: Int) async throws {
        let place = try await CredentialPlace()
        // Two that differ in the last byte alone, and the shorter one that is their beginning.
        let common = "https://" + String(repeating: "a", count: length - "docker:https://".utf8.count - 1)
        let servers = [common + "x", common + "y", common]
        for server in servers {
            let stored = try await place.run(Self.docker, ["store"], Self.login(server, "of \(server)"))
            #expect(stored.status == 0, "\(stored.text)")
        }
        for server in servers {
            let got = try await place.docker("get", server)
            let login = try JSONDecoder().decode(Login.self, from: Data(got.output))
            #expect(login == Login(ServerURL: server, Username: "u", Secret: "of \(server)"))
        }
        let list = try JSONDecoder().decode(
            [String: String].self,
            from: Data(try await place.docker("list").output)
        )
        #expect(list == Dictionary(uniqueKeysWithValues: servers.map { ($0, "u") }))
        var expected: Set<String> = []
        for server in servers {
            let name = "docker:" + server
            expected.insert(try await Self.expected(String(name.prefix(182)), String(name.dropFirst(182))))
        }
        #expect(try await Set(Self.names(in: place)) == expected)
        #expect(expected.allSatisfy { $0.utf8.count <= Self.longest })
        // A new password takes the former one's place.
        #expect(try await place.run(Self.docker, ["store"], Self.login(servers[0], "new")).status == 0)
        #expect(try await Set(Self.names(in: place)) == expected)
        #expect(try await place.docker("get", servers[0]).text.contains("\"Secret\":\"new\""))
        for (index, server) in servers.enumerated() {
            #expect(try await place.docker("erase", server).status == 0)
            #expect(try await place.docker("get", server).text.hasPrefix("credentials not found"))
            #expect(try await Self.names(in: place).count == servers.count - 1 - index)
        }
    }

    @Test(
        "git's hosts, users and paths of any length are stored, given and erased, under their own name up to 255 bytes",
        arguments: [254, 255, 256, 257, 4096],
        ["host", "username", "path"]
    )
    func gitLengths(length: Int, part: String) async throws {
        let place = try await CredentialPlace()
        let parts = ["host": "h", "username": "u", "path": "p"]
        // `git:https://u@h/p`, of which one part is long.
        let common = String(repeating: "a", count: length - "git:https://u@h/p".utf8.count)
        let values = [common + "x", common + "y", common]
        func credential(_ value: String) -> (text: String, name: String) {
            let all = parts.merging([part: value]) { $1 }
            let lines = all.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)\n" }.joined()
            return (
                "protocol=https\n" + lines, "git:https://\(all["username"]!)@\(all["host"]!)/\(all["path"]!)"
            )
        }
        for value in values {
            let stored = try await place.helper("store", credential(value).text + "password=of \(value)\n")
            #expect(stored.status == 0, "\(stored.errors)")
        }
        var expected: Set<String> = []
        for value in values {
            let (text, name) = credential(value)
            #expect(try await place.helper("get", text).text.contains("password=of \(value)\n"))
            expected.insert(try await Self.expected(String(name.prefix(182)), String(name.dropFirst(182))))
        }
        #expect(try await Set(Self.names(in: place)) == expected)
        #expect(try await place.git("fill", credential(values[0]).text).status == 0)
        #expect(try await place.helper("store", credential(values[0]).text + "password=new\n").status == 0)
        #expect(try await Set(Self.names(in: place)) == expected)
        for (index, value) in values.enumerated() {
            let text = credential(value).text
            let kept = try await place.helper("erase", text + "password=another\n")
            #expect(kept.status == 1 && kept.errors.contains("another password is stored"))
            let password = index == 0 ? "new" : "of \(value)"
            #expect(try await place.helper("erase", text + "password=\(password)\n").status == 0)
            #expect(try await place.helper("get", text).output.isEmpty)
            #expect(try await Self.names(in: place).count == values.count - 1 - index)
        }
    }

    @Test(
        "a shortened name is cut between characters, of any length and at any offset",
        arguments: ["ü", "…", "😀"]
    )
    func characters(character: String) async throws {
        let place = try await CredentialPlace()
        let escaped = character.utf8.map { "%" + String($0, radix: 16, uppercase: true) }.joined()
        for offset in 0..<escaped.utf8.count {
            let filler = String(repeating: "a", count: offset)
            let value = filler + String(repeating: character, count: 40)
            let server = "https://" + value
            #expect(try await place.run(Self.docker, ["store"], Self.login(server, "s\(offset)")).status == 0)
            let site = "protocol=https\nhost=\(value)\nusername=u\n"
            #expect(try await place.helper("store", site + "password=p\(offset)\n").status == 0)
            #expect(try await place.docker("get", server).text.contains("\"Secret\":\"s\(offset)\""))
            #expect(try await place.helper("get", site).text.contains("password=p\(offset)\n"))
            let names = try await Self.names(in: place)
            for beginning in ["docker:https://" + filler, "git:https://u@" + filler] {
                let whole = (182 - beginning.utf8.count) / escaped.utf8.count
                let expected = try await Self.expected(
                    beginning + String(repeating: escaped, count: whole),
                    String(repeating: escaped, count: 40 - whole)
                )
                #expect(names.contains(expected), "\(names)")
            }
            #expect(try await place.docker("erase", server).status == 0)
            #expect(try await place.helper("erase", site).status == 0)
            #expect(try await Self.names(in: place).isEmpty)
        }
    }

    @Test(
        "long names of bytes that are not UTF-8 stay apart",
        arguments: [[0xFF], [0x80], [0xC3], [0x80, 0x61]] as [[UInt8]]
    )
    func odd(octets: [UInt8]) async throws {
        let place = try await CredentialPlace()
        let many = Array(repeatElement(octets, count: 200).joined())
        for last in Array("xy".utf8) {
            let site = Array("protocol=https\nhost=".utf8) + many + [last, 0x0A] + Array("username=u\n".utf8)
            let password = Array("password=".utf8) + [last, 0x0A]
            #expect(try await place.run(Self.git, ["store"], site + password).status == 0)
            let server = Array("https://".utf8) + many + [last]
            let login =
                Array("{\"ServerURL\":\"".utf8) + server + Array("\",\"Username\":\"u\",\"Secret\":\"".utf8)
                + [last] + Array("\"}".utf8)
            #expect(try await place.run(Self.docker, ["store"], login).status == 0)
        }
        let names = try await Self.names(in: place)
        #expect(Set(names).count == 4 && names.allSatisfy { $0.utf8.count <= Self.longest }, "\(names)")
        for last in Array("xy".utf8) {
            let site = Array("protocol=https\nhost=".utf8) + many + [last, 0x0A]
            #expect(
                try await place.run(Self.git, ["get"], site).output
                    == Array("username=u\npassword=".utf8) + [last, 0x0A]
            )
            let server = Array("https://".utf8) + many + [last]
            let got = try await place.run(Self.docker, ["get"], server)
            let login = try JSONDecoder().decode(Login.self, from: Data(got.output))
            #expect(login.Secret.utf8.elementsEqual([last]))
            #expect(try await place.run(Self.git, ["erase"], site).status == 0)
            #expect(try await place.run(Self.docker, ["erase"], server).status == 0)
        }
        #expect(try await Self.names(in: place).isEmpty)
    }

    @Test("a server that is called like a shortened name is another one")
    func imitation() async throws {
        let place = try await CredentialPlace()
        let long = "https://" + String(repeating: "a", count: 300)
        #expect(try await place.run(Self.docker, ["store"], Self.login(long, "of the long one")).status == 0)
        let shortened = try #require(await Self.names(in: place).first)
        let imitation = String(shortened.dropFirst("docker:".count))
        #expect(try await place.docker("get", imitation).text.hasPrefix("credentials not found"))
        #expect(try await place.run(Self.docker, ["store"], Self.login(imitation, "false")).status == 0)
        #expect(try await place.docker("get", long).text.contains("\"Secret\":\"of the long one\""))
        #expect(try await place.docker("get", imitation).text.contains("\"Secret\":\"false\""))
        #expect(try await Set(Self.names(in: place)).count == 2)

        let host = String(repeating: "a", count: 300)
        let site = "protocol=https\nhost=\(host)\nusername=u\n"
        #expect(try await place.helper("store", site + "password=of the long one\n").status == 0)
        let name = try #require(await Self.names(in: place).first { $0.hasPrefix("git:") })
        let other = "protocol=https\nhost=\(name.dropFirst("git:https://u@".count))\nusername=u\n"
        #expect(try await place.helper("get", other).output.isEmpty)
        #expect(try await place.helper("store", other + "password=false\n").status == 0)
        #expect(try await place.helper("get", site).text.contains("password=of the long one\n"))
        #expect(try await place.helper("get", other).text.contains("password=false\n"))
        #expect(try await Set(Self.names(in: place)).count == 4)
    }

    @Test("a server longer than any attribute is refused with an error, and nothing is stored")
    func tooLong() async throws {
        let place = try await CredentialPlace()
        let long = String(repeating: "a", count: ItemLimits.longestAttribute)
        let docker = try await place.run(Self.docker, ["store"], Self.login(long, "s"))
        #expect(docker.status != 0 && docker.text.contains("too large"), "\(docker.text)")
        #expect(try await place.docker("get", long).text.hasPrefix("credentials not found"))
        let git = try await place.helper("store", "protocol=https\nhost=h\nusername=\(long)\npassword=p\n")
        #expect(git.status != 0 && git.errors.contains("too large"), "\(git.errors)")
        // The host is not among the details: its length is limited by git's description alone.
        let site = "protocol=https\nhost=\(long)\nusername=u\n"
        #expect(try await place.helper("store", site + "password=p\n").status == 0)
        #expect(try await place.helper("get", site).text.contains("password=p\n"))
        #expect(try await Self.names(in: place).count == 1)
    }
}
