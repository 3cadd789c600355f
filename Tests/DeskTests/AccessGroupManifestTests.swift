import Desk
import KeychainModel
import Testing

private func manifest(_ text: String) throws -> AccessGroupManifest {
    var manifest = AccessGroupManifest()
    try manifest.add(text)
    return manifest
}

@Suite("Access group manifests")
struct AccessGroupManifestTests {
    @Test("a program has the groups under which it is listed, in their order")
    func grants() throws {
        let manifest = try manifest(
            """
            # mail
              [com.example.mail]\u{20}
            /usr/bin/mail
            /opt/Mail Helper/helper#2\r

            [shared]
            /usr/bin/mail
            /usr/bin/mail
            """
        )
        #expect(manifest.groups(of: "/usr/bin/mail").map(\.name) == ["com.example.mail", "shared"])
        #expect(manifest.groups(of: "/opt/Mail Helper/helper#2").map(\.name) == ["com.example.mail"])
        #expect(manifest.groups(of: "/usr/bin/mai").isEmpty)
        #expect(manifest.groups(of: nil).isEmpty)
    }

    @Test("programs are identified by the bytes of their paths, not by canonical equivalence")
    func octets() throws {
        let manifest = try manifest("[group]\n/opt/caf\u{E9}")
        #expect(!manifest.groups(of: "/opt/caf\u{E9}").isEmpty)
        #expect(manifest.groups(of: "/opt/cafe\u{301}").isEmpty)
    }

    @Test("several manifests add up")
    func several() throws {
        var manifest = try manifest("[one]\n/usr/bin/mail")
        try manifest.add("[two]\n/usr/bin/mail")
        #expect(manifest.groups(of: "/usr/bin/mail").map(\.name) == ["one", "two"])
    }

    @Test(
        "a malformed manifest is refused with the line number",
        arguments: [
            ("/usr/bin/mail", 1), ("[]", 1), ("\r\n[group", 2), ("[a]\nmail", 2), ("[a]\n./mail", 2),
            ("[a]\n/b\0", 2), ("[" + String(repeating: "a", count: 1025) + "]", 1),
            ("[a]\n/" + String(repeating: "a", count: 4095), 2),
            ((0...32).map { "[g\($0)]\n/bin/a" }.joined(separator: "\n"), 66),
        ]
    )
    func faults(text: String, line: Int) {
        var manifest = AccessGroupManifest()
        let fault = #expect(throws: AccessGroupManifest.Fault.self) { try manifest.add(text) }
        #expect(fault?.line == line)
        #expect(fault?.reason.isEmpty == false)
    }
}

@Suite("A program's own group in a manifest")
struct OwnGroupTests {
    @Test("an own group replaces the path's group, by path or pattern, and the first match counts")
    func own() throws {
        let manifest = try manifest(
            "[a]\nown /opt/app-*/bin/app\nown /usr/bin/app\n[b]\nown /opt/*/bin/app\n/usr/bin/app"
        )
        #expect(manifest.ownGroup(of: "/opt/app-1.2/bin/app")?.name == "a")
        #expect(manifest.ownGroup(of: "/opt/other/bin/app")?.name == "b")
        #expect(manifest.ownGroup(of: "/usr/bin/app")?.name == "a")
        #expect(manifest.groups(of: "/usr/bin/app").map(\.name) == ["b", "a"])
        #expect(manifest.ownGroup(of: "/usr/bin/other") == nil)
    }

    @Test(
        "a star matches any characters except a slash",
        arguments: [
            ("/opt/app-*/bin/app", "/opt/app-1/bin/app", true),
            ("/opt/app-*/bin/app", "/opt/app-/bin/app", true),
            ("/opt/app-*/bin/app", "/opt/app-1/x/bin/app", false),
            ("/opt/app-*/bin/app", "/opt/app-1/bin/app2", false),
            ("/opt/app-*/bin/app", "/opt/bpp-1/bin/app", false),
            ("/tmp/.mount_App*/usr/bin/app", "/tmp/.mount_AppXyz/usr/bin/app", true),
            ("/a/*b*/c", "/a/xbyb/c", true), ("/a/*b*/c", "/a/xyz/c", false), ("/a/*", "/a/b", true),
            ("/a/*", "/a/b/c", false),
            ("/a/*.AppImage", "/a/x.AppImage", true), ("/a/**c", "/a/bc", true), ("/a/*bc", "/a/bbc", true),
            ("/a/*ab*ab", "/a/xabab", true), ("/a/*ab*ab", "/a/xab", false), ("/a/x*", "/a/x", true),
            ("/a/b*/*/c", "/a/b/x/c", true), ("/a/b*/*/c", "/a/b/c", false),
        ]
    )
    func pattern(pattern: String, path: String, fits: Bool) throws {
        #expect(try manifest("[g]\n\(pattern)").groups(of: path).isEmpty == !fits)
        #expect(try (manifest("[g]\nown \(pattern)").ownGroup(of: path) != nil) == fits)
    }

    @Test(
        "an own group may not be named like a program or the command",
        arguments: ["/usr/bin/other", "touchstone"]
    )
    func names(group: String) {
        #expect(throws: AccessGroupManifest.Fault.self) { try manifest("[\(group)]\nown /usr/bin/app") }
    }
}
