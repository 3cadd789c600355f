import Foundation
import Glibc
import ScriptedDaemon
import TouchstoneTesting

/// The clients whose transcripts there are, and what each does while it is recorded.
enum TranscriptClient: String, CaseIterable, Sendable {
    case secretTool = "secret-tool"
    case secretToolLocked = "secret-tool-locked"
    case gitCredential = "git-credential-libsecret"
    case keyring = "python-keyring"
    case keyringLocked = "python-keyring-locked"
    case secretStorage = "python-secretstorage"
    case secretStorageCollections = "python-secretstorage-collections"
    case libsecret
    case libsecretCollections = "libsecret-collections"
    case chromium
    case chromiumLocked = "chromium-locked"

    private static let tool = "/usr/bin/secret-tool"
    private static let helperSource =
        "/usr/share/doc/git/contrib/credential/libsecret/git-credential-libsecret.c"

    /// Whether it can be recorded here.
    var isInstalled: Bool {
        switch self {
        case .secretTool, .secretToolLocked: Programs.isBuilt(Self.tool)
        case .gitCredential: FileManager.default.fileExists(atPath: Self.helperSource)
        case .keyring, .keyringLocked, .secretStorage, .secretStorageCollections, .libsecret,
            .libsecretCollections:
            Programs.isBuilt("/usr/bin/python3")
        case .chromium, .chromiumLocked: Programs.isBuilt(SecretServiceWorld.browser)
        }
    }

    /// Whether GNOME Keyring can be recorded with it: it would draw its boxes on a screen.
    var isWithoutBoxes: Bool {
        switch self {
        case .secretToolLocked, .keyringLocked, .secretStorageCollections, .libsecretCollections,
            .chromiumLocked:
            false
        default: true
        }
    }

    /// The packages whose versions are told.
    private var packages: [String] {
        switch self {
        case .secretTool, .secretToolLocked: ["libsecret-tools", "libsecret-1-0"]
        case .gitCredential: ["git", "libsecret-1-0"]
        case .keyring, .keyringLocked: ["python3-keyring", "python3-secretstorage", "python3-jeepney"]
        case .secretStorage, .secretStorageCollections: ["python3-secretstorage", "python3-jeepney"]
        case .libsecret, .libsecretCollections: ["libsecret-1-0", "python3-gi"]
        case .chromium, .chromiumLocked: ["chromium"]
        }
    }

    /// What it stores in encrypted sessions, in its order.
    private var secrets: [String] {
        switch self {
        case .secretTool: ["hello", "hello again", "sixteen letters!", "brief"]
        // A locked collection refuses the first try.
        case .secretToolLocked: ["hello", "again", "again"]
        case .gitCredential: ["p w", "other"]
        case .keyring: ["one", "two"]
        case .keyringLocked: ["one"]
        case .secretStorage: ["first", "second"]
        case .secretStorageCollections: ["third"]
        case .libsecret: ["sekret", "brief"]
        case .libsecretCollections: ["inner", "outer"]
        // It stores a random text, in a plain session.
        case .chromium, .chromiumLocked: []
        }
    }

    /// Records it with the service of a world; whether the transcript is another than before.
    func record(in world: SecretServiceWorld, with service: String? = nil) async throws -> Bool {
        try await world.record(
            (service == nil ? "" : Transcript.keyring) + rawValue,
            of: packages,
            with: service,
            knowing: secrets
        ) { recorder in
            switch self {
            case .secretTool: try await useSecretTool(recorder)
            case .secretToolLocked: try await useSecretToolLocked(recorder)
            case .gitCredential: try await useGitCredential(recorder, world)
            case .keyring: try await recorder.python(Self.keyringScript)
            case .keyringLocked: try await useKeyringLocked(recorder)
            case .secretStorage: try await recorder.python(Self.secretStorageScript)
            case .secretStorageCollections: try await recorder.python(Self.secretStorageCollectionsScript)
            case .libsecret: try await recorder.python(Self.libsecretScript)
            case .libsecretCollections: try await recorder.python(Self.libsecretCollectionsScript)
            case .chromium: try await useChromium(recorder)
            case .chromiumLocked: try await useChromiumLocked(recorder)
            }
        }
    }

    // MARK: What they do

    private func useSecretTool(_ recorder: TranscriptRecorder) async throws {
        let attributes = ["user", "alice", "server", "example.org"]
        for text in ["hello", "hello again"] {
            try await recorder.run(
                Self.tool,
                "store",
                "--label=Mail",
                attributes[0],
                attributes[1],
                attributes[2],
                attributes[3],
                input: text
            )
        }
        try await recorder.run(Self.tool, "store", "--label=Key", "user", "bob", input: "sixteen letters!")
        try await recorder.run(Self.tool, "lookup", "user", "alice")
        try await recorder.run(Self.tool, "lookup", "user", "bob")
        try await recorder.run(Self.tool, "lookup", "user", "nobody")
        try await recorder.run(Self.tool, "search", "--all", "user", "alice")
        try await recorder.run(Self.tool, "search", "--all", "--unlock", "user", "bob")
        try await recorder.run(
            Self.tool,
            "store",
            "--collection=session",
            "--label=Brief",
            "user",
            "brief",
            input: "brief"
        )
        try await recorder.run(Self.tool, "lookup", "user", "brief")
        try await recorder.run(Self.tool, "clear", "user", "alice")
        try await recorder.run(Self.tool, "lookup", "user", "alice")
        try await recorder.run(Self.tool, "clear", "user", "alice")
    }

    private func useSecretToolLocked(_ recorder: TranscriptRecorder) async throws {
        try await recorder.run(Self.tool, "store", "--label=Mail", "user", "alice", input: "hello")
        try await recorder.owner(.locks)
        try await recorder.run(Self.tool, "lookup", "user", "alice")
        try await recorder.owner(.locks)
        try await recorder.run(Self.tool, "lookup", "user", "nobody")
        try await recorder.owner(.locks)
        try await recorder.run(Self.tool, "search", "--all", "user", "alice")
        try await recorder.run(Self.tool, "clear", "user", "alice")
        try await recorder.owner(.cancels)
        try await recorder.run(Self.tool, "lookup", "user", "alice")
        try await recorder.run(Self.tool, "search", "--all", "--unlock", "user", "alice")
        try await recorder.owner(.answers)
        try await recorder.run(Self.tool, "store", "--label=Mail", "user", "alice", input: "again")
        try await recorder.run(Self.tool, "lookup", "user", "alice")
        try await recorder.run(Self.tool, "lock")
        try await recorder.run(Self.tool, "lookup", "user", "alice")
        try await recorder.run(Self.tool, "clear", "user", "alice")
    }

    private func useGitCredential(_ recorder: TranscriptRecorder, _ world: SecretServiceWorld) async throws {
        let helper = world.keychain.home.path + "/git-credential-libsecret"
        let built = try await world.run(
            "/bin/sh",
            "-c",
            "cc -w -o \(helper) \(Self.helperSource) $(pkg-config --cflags --libs libsecret-1)"
        )
        guard built.status == 0 else { throw TestKitError.unexpected(built.errors) }
        let place = "protocol=https\nhost=git.example.org\n"
        let user = "username=u\n"
        try await recorder.run(helper, "get", input: place)
        try await recorder.run(helper, "store", input: place + user + "password=p w\n")
        try await recorder.run(helper, "get", input: place)
        try await recorder.run(helper, "get", input: place + "path=other.git\n" + user)
        try await recorder.run(helper, "store", input: place + user + "password=other\n")
        try await recorder.run(helper, "get", input: place + user)
        try await recorder.run(helper, "erase", input: place + user)
        try await recorder.run(helper, "get", input: place)
    }

    private func useKeyringLocked(_ recorder: TranscriptRecorder) async throws {
        let start = "from keyring.backends import SecretService\nring = SecretService.Keyring()\n"
        try await recorder.python(start + #"ring.set_password("svc", "bob", "one")"#)
        try await recorder.owner(.locks)
        try await recorder.owner(.cancels)
        try await recorder.python(start + #"ring.get_password("svc", "bob")"#)
        try await recorder.owner(.answers)
        try await recorder.python(start + #"ring.get_password("svc", "bob")"#)
        try await recorder.owner(.locks)
        try await recorder.python(start + #"ring.delete_password("svc", "bob")"#)
    }

    /// Starts the browser, which reads its key, and ends it.
    private func startChromium(_ recorder: TranscriptRecorder) async throws {
        try await recorder.command("chromium about:blank")
        let result = try await recorder.world.browse("about:blank")
        guard result.status == 0 else { throw TestKitError.unexpected(result.errors) }
    }

    private func useChromium(_ recorder: TranscriptRecorder) async throws {
        for _ in 1...2 { try await startChromium(recorder) }
    }

    private func useChromiumLocked(_ recorder: TranscriptRecorder) async throws {
        try await recorder.owner(.locks)
        for owner in [Transcript.Owner.cancels, .answers] {
            try await recorder.owner(owner)
            try await startChromium(recorder)
        }
        try await recorder.owner(.locks)
        try await startChromium(recorder)
    }

    private static let keyringScript = """
        import keyring
        from keyring.backends import SecretService
        keyring.set_keyring(SecretService.Keyring())
        keyring.set_password("svc", "bob", "one")
        keyring.get_password("svc", "bob")
        keyring.set_password("svc", "bob", "two")
        keyring.get_password("svc", "bob")
        keyring.get_credential("svc", None)
        keyring.get_password("svc", "nobody")
        keyring.delete_password("svc", "bob")
        keyring.get_password("svc", "bob")
        """

    private static let secretStorageScript = """
        import secretstorage
        connection = secretstorage.dbus_init()
        print(secretstorage.check_service_availability(connection))
        collection = secretstorage.get_default_collection(connection)
        collection.get_label(), collection.is_locked()
        item = collection.create_item("One", {"n": "1"}, b"first")
        item.get_secret(), item.get_label(), item.get_attributes(), item.is_locked(), item.get_created()
        item.get_secret_content_type(), item.get_modified()
        item.set_label("Eins")
        item.set_attributes({"n": "1", "k": "x"})
        item.set_secret(b"second")
        [found.get_secret() for found in collection.search_items({"k": "x"})]
        [found.get_label() for found in secretstorage.search_items(connection, {"n": "2"})]
        [found.get_label() for found in collection.get_all_items()]
        item.delete()
        try:
            item.get_secret()
        except secretstorage.exceptions.ItemNotFoundException:
            pass
        """

    private static let secretStorageCollectionsScript = """
        import secretstorage
        connection = secretstorage.dbus_init()
        [found.get_label() for found in secretstorage.get_all_collections(connection)]
        other = secretstorage.create_collection(connection, "Work")
        other.set_label("Works")
        other.create_item("Two", {"n": "2"}, b"third", replace=True).get_secret()
        other.lock()
        secretstorage.Collection(connection, other.collection_path).unlock()
        other.delete()
        """

    private static let libsecretScript = """
        import gi
        gi.require_version("Secret", "1")
        from gi.repository import Secret
        schema = Secret.Schema.new("org.example.t", Secret.SchemaFlags.NONE, {"n": Secret.SchemaAttributeType.STRING})
        Secret.password_store_sync(schema, {"n": "1"}, Secret.COLLECTION_DEFAULT, "label", "sekret", None)
        Secret.password_lookup_sync(schema, {"n": "1"}, None)
        Secret.password_store_sync(schema, {"n": "s"}, Secret.COLLECTION_SESSION, "label", "brief", None)
        Secret.password_lookup_sync(schema, {"n": "s"}, None)
        service = Secret.Service.get_sync(Secret.ServiceFlags.OPEN_SESSION, None)
        c = Secret.Collection.for_alias_sync(service, "default", Secret.CollectionFlags.LOAD_ITEMS, None)
        [i.get_label() for i in c.get_items()]
        Secret.password_clear_sync(schema, {"n": "1"}, None)
        """

    private static let libsecretCollectionsScript = """
        import gi
        gi.require_version("Secret", "1")
        from gi.repository import Secret
        schema = Secret.Schema.new("org.example.t", Secret.SchemaFlags.NONE, {"n": Secret.SchemaAttributeType.STRING})
        service = Secret.Service.get_sync(Secret.ServiceFlags.LOAD_COLLECTIONS, None)
        made = Secret.Collection.create_sync(service, "Work", None, Secret.CollectionCreateFlags.NONE, None)
        value = Secret.Value.new("inner", -1, "text/plain")
        item = Secret.Item.create_sync(made, schema, {"n": "w"}, "in", value, Secret.ItemCreateFlags.NONE, None)
        item.load_secret_sync(None)
        item.set_label_sync("out", None)
        item.set_attributes_sync(schema, {"n": "x"}, None)
        item.set_secret_sync(Secret.Value.new("outer", -1, "text/plain"), None)
        service.lock_sync([made], None)
        service.unlock_sync([made], None)
        item.delete_sync(None)
        made.delete_sync(None)
        """
}
