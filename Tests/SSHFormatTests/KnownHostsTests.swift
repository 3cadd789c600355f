import Foundation
import SSHFormat
import Testing

@Suite("Known hosts")
struct KnownHostsTests {
    private let keys: [SSHPublicKey]
    /// The keys' lines without comments.
    private let lines: [String]

    init() throws {
        keys = [try Peer.ed25519().key, try Peer.p256().key, try RSAPeer().key]
        lines = keys.map { $0.line(comment: "") }
    }

    @Test("names are found by the key, each once, in order, and keys by the name")
    func plain() {
        let hosts = KnownHosts(
            """
            # A comment
            b.example,A.example,10.0.0.1 \(lines[0]) a comment

            [c.example]:2222,b.example\t\(lines[0])\r
              a.EXAMPLE \(lines[1])
            """
        )
        let names = ["b.example", "A.example", "10.0.0.1", "[c.example]:2222"]
        #expect(hosts.names(of: keys[0], candidates: []) == names)
        #expect(hosts.names(of: keys[1], candidates: ["x.example"]) == ["a.EXAMPLE"])
        #expect(hosts.names(of: keys[2], candidates: ["a.example"]).isEmpty)
        #expect(hosts.keys(of: "a.example") == [keys[0], keys[1]])
        #expect(hosts.keys(of: "B.EXAMPLE") == [keys[0]])
        #expect(hosts.keys(of: "[C.example]:2222") == [keys[0]])
        for name in ["c.example", "", "example", "# A", "a.example,10.0.0.1"] {
            #expect(hosts.keys(of: name).isEmpty, "\(name)")
        }
    }

    @Test("names that ssh-keygen has hashed are found among the candidates")
    func hashed() throws {
        let keygen = try SSHKeygen()
        try keygen.write(
            "known",
            "One.example,two.example \(lines[0])\n[two.example]:2222 \(lines[1])\nplain* \(lines[2])\n"
        )
        try keygen.run(["-H", "-f", "known"])
        let text = try keygen.read("known")
        try #require(text.contains("|1|") && !text.contains("two.example"))
        let hosts = KnownHosts(text)
        let candidates = ["x.example", "TWO.example", "[two.example]:2222", "one.example", "one.example"]
        #expect(Set(hosts.names(of: keys[0], candidates: candidates)) == ["one.example", "TWO.example"])
        #expect(hosts.names(of: keys[0], candidates: candidates).count == 2)
        #expect(hosts.names(of: keys[1], candidates: candidates) == ["[two.example]:2222"])
        #expect(hosts.names(of: keys[0], candidates: ["x.example", ""]).isEmpty)
        #expect(hosts.names(of: keys[2], candidates: candidates + ["plain"]).isEmpty)
        #expect(hosts.keys(of: "Two.Example") == [keys[0]])
        #expect(hosts.keys(of: "[TWO.example]:2222") == [keys[1]])
        #expect(hosts.keys(of: "three.example").isEmpty)
    }

    @Test("a malformed hash matches nothing")
    func malformedHashes() throws {
        let keygen = try SSHKeygen()
        try keygen.write("known", "host \(lines[0])\n")
        try keygen.run(["-H", "-f", "known"])
        let text = try keygen.read("known")
        let field = String(try #require(text.split(separator: " ").first))
        func isKnown(_ field: String) -> Bool {
            !KnownHosts("\(field) \(lines[0])").keys(of: "host").isEmpty
        }
        #expect(isKnown(field))
        for refused in [
            String(field.dropLast()), String(field.dropFirst()), field + "|", "|" + field, "|1|", "|", "|1||",
            "|2" + field.dropFirst(2), field.replacingOccurrences(of: "=", with: ""), field + "=",
        ] {
            #expect(!isKnown(refused), "\(refused)")
        }
    }

    @Test("patterns are no names, and authorities no keys")
    func patterns() {
        let hosts = KnownHosts(
            """
            *.example,!bad.example,hos?,host \(lines[0])
            @cert-authority authority.example \(lines[1])
            @other other.example \(lines[2])
            """
        )
        #expect(hosts.names(of: keys[0], candidates: ["a.example", "bad.example", "hose"]) == ["host"])
        #expect(hosts.keys(of: "*.example").isEmpty)
        #expect(hosts.keys(of: "!bad.example").isEmpty)
        #expect(hosts.keys(of: "authority.example").isEmpty)
        #expect(hosts.keys(of: "other.example").isEmpty)
        for key in keys { #expect(!hosts.isRevoked(key)) }
        #expect(hosts.names(of: keys[1], candidates: ["authority.example"]).isEmpty)
    }

    @Test("a revoked key has no names, wherever the line is", arguments: [true, false])
    func revoked(isFirst: Bool) {
        let revocation = "@revoked other.example \(lines[0])"
        let names = "host,other \(lines[0])\nhost \(lines[1])"
        let hosts = KnownHosts(isFirst ? "\(revocation)\n\(names)" : "\(names)\n\(revocation)")
        #expect(hosts.isRevoked(keys[0]))
        #expect(!hosts.isRevoked(keys[1]))
        #expect(hosts.names(of: keys[0], candidates: ["host"]).isEmpty)
        #expect(hosts.keys(of: "host") == [keys[1]])
        #expect(hosts.keys(of: "other").isEmpty)
        #expect(!KnownHosts(names).isRevoked(keys[0]))
    }

    @Test("a bad line is ignored, and the next is read")
    func badLines() {
        let base64 = lines[0].split(separator: " ")[1]
        for line in [
            "bad", "bad ssh-ed25519", "bad \(base64)", "bad ssh-rsa \(base64)",
            "bad ssh-ed25519 \(base64.dropLast(4))",
            "bad ssh-ed25519 *\(base64)", "bad ssh-ed25519 \(base64)AAAA", "@revoked \(lines[0])",
            "# bad \(lines[0])", "#bad \(lines[0])", "@revoked", "@", "\u{0}", "bad ssh-dss AAAA",
        ] {
            let hosts = KnownHosts("\(line)\ngood \(lines[0])\n")
            #expect(hosts.keys(of: "bad").isEmpty, "\(line)")
            #expect(hosts.names(of: keys[0], candidates: ["bad"]) == ["good"], "\(line)")
            #expect(hosts.keys(of: "good") == [keys[0]])
        }
    }
}
