import Foundation
import Glibc
import KeychainModel
import MessageBus
import ScriptedDaemon
import Testing
import TouchstoneTesting

private let interpreter = "/usr/bin/python3"

/// Chromium as it is: it keeps the key of its own files in the Secret Service, and its user keeps the cookies.
@Suite(
    "Chromium at the Secret Service",
    .enabled(
        if: SecretServiceWorld.isPossible,
        "touchstone-secrets, its daemon and dbus-daemon are not all there"
    ),
    .enabled(
        if: Programs.isBuilt(SecretServiceWorld.browser) && Programs.isBuilt(interpreter),
        "chromium and python3 are not both installed"
    ),
    .timeLimit(.minutes(10))
)
struct BrowserClientTests {
    private static let isKeyringInstalled = Programs.isBuilt("/usr/bin/gnome-keyring-daemon")

    /// What three starts of the browser show, the last of them while the key is locked and nobody unlocks it.
    private func starts(of user: BrowserUser) async throws -> [(name: String, outcome: String)] {
        var outcomes: [(name: String, outcome: String)] = []
        outcomes.append(("the first page", try await user.open("/set")))
        let first = try await user.keys()
        outcomes.append(("the keys after it", "\(first.map(\.description))"))
        let secret = first.first?.secret ?? ""
        outcomes.append(("the stored cookies", try await user.storedCookies(secret: secret)))
        outcomes.append(("the second page", try await user.open("/")))
        outcomes.append(("the same key", "\(try await user.keys().map { $0.secret == secret })"))
        try await user.lock()
        outcomes.append(("the page with a cancelled box", try await user.open("/")))
        outcomes.append(("the stored cookies then", try await user.storedCookies(secret: secret)))
        let (unlocked, locked) = try await user.client.search(BrowserUser.attributes)
        outcomes.append(("the keys then", "\(unlocked.count) and \(locked.count) locked"))
        return outcomes
    }

    @Test(
        "the first start makes one key, which all later ones read, and the cookies stay, as with GNOME Keyring",
        .enabled(if: isKeyringInstalled, "gnome-keyring is not installed")
    )
    func same() async throws {
        let user = try await BrowserUser()
        let ours = try await starts(of: user)
        let theirs = try await starts(of: try await BrowserUser(hasKeyring: true))
        for (ours, theirs) in zip(ours, theirs) where ours != theirs {
            print("differs: \(ours.name): GNOME Keyring \(theirs.outcome), Touchstone \(ours.outcome)")
        }
        #expect(ours.map(\.name) == theirs.map(\.name) && ours.map(\.outcome) == theirs.map(\.outcome))
        #expect(
            ours.map(\.outcome) == [
                "cookies: []",
                #"["Chromium Safe Storage application=chromium xdg:schema=chrome_libsecret_os_crypt_password_v2"]"#,
                "keep v11 7316", "cookies: [keep=7316]", "[true]",
                // It deletes what it cannot read; neither of the two can keep it from that.
                "cookies: []", "", "0 and 1 locked",
            ]
        )
    }

    @Test("before the first unlock each start asks once, and its key and the cookies are the same")
    func cold() async throws {
        let user = try await BrowserUser()
        try await user.world.makeCold()
        let before = user.boxes.count
        #expect(try await user.open("/set") == "cookies: []")
        #expect(user.boxes.count == before + 1)
        let box = try #require(user.boxes.last)
        #expect(
            box.contains("Requested by the Secret Service, for ") && box.contains("chromium"),
            "\(box)"
        )
        let key = try #require(try await user.keys().first)
        #expect(try await user.storedCookies(secret: key.secret) == "keep v11 7316")

        try await user.world.makeCold()
        #expect(try await user.open("/") == "cookies: [keep=7316]")
        #expect(user.boxes.count == before + 2)
        #expect(try await user.keys() == [key])
    }

    @Test("a cancelled box makes no second key and takes none away")
    func cancelled() async throws {
        let user = try await BrowserUser()
        // There is none yet.
        try await user.world.makeCold()
        try user.world.keychain.setCancels(true)
        let before = user.boxes.count
        #expect(try await user.open("/") == "cookies: []")
        #expect(user.boxes.count == before + 1)
        try user.world.keychain.setCancels(false)
        #expect(try await user.world.touchstone("unlock").status == 0)
        #expect(try await user.keys() == [])

        #expect(try await user.open("/set") == "cookies: []")
        let key = try #require(try await user.keys().first)
        try await user.world.makeCold()
        try user.world.keychain.setCancels(true)
        let boxes = user.boxes.count
        #expect(try await user.open("/") == "cookies: []")
        #expect(user.boxes.count == boxes + 1)
        try user.world.keychain.setCancels(false)

        // The next start has the former key again.
        _ = try await user.open("/set")
        #expect(user.boxes.count == boxes + 2)
        #expect(try await user.keys() == [key])
        #expect(try await user.storedCookies(secret: key.secret) == "keep v11 7316")
        #expect(try await user.open("/") == "cookies: [keep=7316]")
    }

    @Test(
        "its key is protected by force alone; then each start asks for the gesture, and the cookies stay"
    )
    func protected() async throws {
        let user = try await BrowserUser()
        _ = try await user.open("/set")
        let key = try #require(try await user.keys().first)
        let refused = try await user.world.touchstone("protect", key.name)
        #expect(refused.status == 1 && refused.errors.contains("--force"), "\(refused.errors)")
        #expect(
            try await user.world.touchstone("protect", "--match", "application=chromium").status == 0
        )
        var before = user.boxes.count
        #expect(try await user.open("/") == "cookies: [keep=7316]")
        #expect(user.boxes.count == before)

        let forced = try await user.world.touchstone(
            "protect",
            key.name,
            "--force",
            "--require",
            "passcode"
        )
        #expect(forced.status == 0, "\(forced.errors)")
        for _ in 0..<2 {
            before = user.boxes.count
            #expect(try await user.open("/") == "cookies: [keep=7316]")
            #expect(user.boxes.count == before + 1)
            let box = try #require(user.boxes.last)
            #expect(box.contains("Read the secret 'Chromium Safe Storage'."), "\(box)")
        }

        try user.world.keychain.setCancels(true)
        #expect(try await user.open("/") == "cookies: []")
        try user.world.keychain.setCancels(false)
        #expect(try await user.world.touchstone("unprotect", key.name).status == 0)
        #expect(try await user.keys() == [key])
    }
}

/// A user with one profile of the browser, and a site that sets a cookie and shows those that come.
private struct BrowserUser: Sendable {
    /// An item by which the browser keeps its key.
    struct Key: Equatable, CustomStringConvertible {
        let name: String
        let label: String
        let attributes: [String: String]
        let secret: String

        /// What is the same in every keyring.
        var description: String {
            ([label] + attributes.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" })
                .joined(separator: " ")
        }
    }

    static let attributes = ["application": "chromium"]

    let world: SecretServiceWorld
    let client: SecretsPeer
    private let keyring: StartedCommand?
    private let site: StartedCommand
    private let port: String

    private static let siteScript = """
        import http.server, os, sys

        class Site(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                self.send_response(200)
                self.send_header("Content-Type", "text/html")
                if self.path == "/set":
                    self.send_header("Set-Cookie", "keep=7316; Max-Age=8640000; Path=/")
                self.end_headers()
                self.wfile.write(f"<p>cookies: [{self.headers.get('Cookie', '')}]</p>".encode())

            def log_message(self, *arguments):
                pass

        server = http.server.HTTPServer(("127.0.0.1", 0), Site)
        with open(sys.argv[1] + ".new", "w") as file:
            file.write(str(server.server_port))
        os.rename(sys.argv[1] + ".new", sys.argv[1])
        server.serve_forever()
        """

    /// Decrypts as the browser does, with a key derived from the secret; before the value stands a hash of the host's name.
    private static let cookiesScript = """
        import hashlib, sqlite3, subprocess, sys

        file, secret = sys.argv[1:]
        key = hashlib.pbkdf2_hmac("sha1", secret.encode(), b"saltysalt", 1, 16)
        decrypt = ["openssl", "enc", "-d", "-aes-128-cbc", "-K", key.hex(), "-iv", (b" " * 16).hex()]
        rows = sqlite3.connect(f"file:{file}?mode=ro", uri=True).execute("select name, encrypted_value from cookies")
        for name, value in rows:
            plain = subprocess.run(decrypt, input=value[3:], capture_output=True).stdout
            print(name, value[:3].decode(), plain[32:].decode(errors="replace"))
        """

    /// Starts the bus, the site, and the door or GNOME Keyring.
    init(hasKeyring: Bool = false) async throws {
        world = try await SecretServiceWorld(startsDoor: !hasKeyring)
        keyring = hasKeyring ? try await world.startKeyring() : nil
        client = try await world.client()
        let home = world.keychain.home
        try Self.siteScript.write(toFile: home.path + "/site.py", atomically: true, encoding: .utf8)
        try Self.cookiesScript.write(
            toFile: home.path + "/cookies.py",
            atomically: true,
            encoding: .utf8
        )
        var run = CommandRun(home.path + "/site.py", home.path + "/port", home: home)
        run.program = interpreter
        site = try run.start()
        port = try await Deadline.wait(for: "the site") {
            try? String(contentsOfFile: home.path + "/port", encoding: .utf8)
        }
    }

    /// The texts of the boxes so far.
    var boxes: [String] { world.keychain.boxes }

    /// Opens a page of the site in a browser that ends then; the text of the page.
    func open(_ path: String) async throws -> String {
        let result = try await world.browse("http://127.0.0.1:\(port)\(path)")
        guard result.status == 0, let start = result.text.range(of: "<p>"),
            let end = result.text.range(of: "</p>", range: start.upperBound..<result.text.endIndex)
        else {
            throw TestKitError.unexpected("\(result)")
        }
        return String(result.text[start.upperBound..<end.lowerBound])
    }

    /// The cookies in the browser's file: name, kind of encryption, and value as decrypted with a key.
    func storedCookies(secret: String) async throws -> String {
        let home = world.keychain.home.path
        let result = try await world.run(
            interpreter,
            home + "/cookies.py",
            home + "/profile/Default/Cookies",
            secret
        )
        guard result.status == 0 else { throw TestKitError.unexpected(result.errors) }
        return result.text.split(separator: "\n").joined(separator: ", ")
    }

    /// The browser's keys in the Secret Service, which is unlocked.
    func keys() async throws -> [Key] {
        let (unlocked, locked) = try await client.search(Self.attributes)
        guard locked.isEmpty else { throw TestKitError.unexpected("locked: \(locked)") }
        var keys: [Key] = []
        for path in unlocked {
            let label = try await client.property(path, SecretsPeer.item, "Label")
            let attributes = try await client.property(path, SecretsPeer.item, "Attributes")
            keys.append(
                Key(
                    name: String(path.split(separator: "/").last ?? ""),
                    label: label?.text ?? "",
                    attributes: attributes?.textPairs ?? [:],
                    secret: try await client.read(path)
                )
            )
        }
        return keys
    }

    /// Locks the collection; who wants to unlock it is told that the user cancelled.
    ///
    /// GNOME Keyring says so itself: nothing on this bus shows its boxes.
    func lock() async throws {
        if keyring == nil { try world.keychain.setCancels(true) }
        let locked = try await client.lock([SecretServiceWorld.login])
        guard locked == [SecretServiceWorld.login] else { throw TestKitError.unexpected("\(locked)") }
    }
}

extension SecretServiceWorld {
    static let browser = "/usr/bin/chromium"

    /// Opens a page in a browser with this world's profile, which ends then; its output is the page.
    func browse(_ address: String) async throws -> CommandResult {
        try await run(
            Self.browser,
            // It has no sandbox for root.
            "--no-sandbox",
            "--headless=new",
            "--no-first-run",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--disable-background-networking",
            "--disable-component-update",
            "--user-data-dir=\(keychain.home.path)/profile",
            "--password-store=gnome-libsecret",
            "--dump-dom",
            address
        )
    }
}
