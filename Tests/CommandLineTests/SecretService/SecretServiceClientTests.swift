import Foundation
import Glibc
import KeychainModel
import MessageBus
import ScriptedDaemon
import Testing
import TouchstoneTesting

private let tool = "/usr/bin/secret-tool"
private let helperSource =
    "/usr/share/doc/git/contrib/credential/libsecret/git-credential-libsecret.c"
private let portalProgram = "/usr/libexec/xdg-desktop-portal"
private let interpreter = "/usr/bin/python3"

/// Programs that were never written for this keychain, as they are: libsecret's tool, git's helper, Python's and GNOME's libraries.
@Suite(
    "Clients of the Secret Service",
    .enabled(
        if: SecretServiceWorld.isPossible,
        "touchstone-secrets, its daemon and dbus-daemon are not all there"
    ),
    .timeLimit(.minutes(20))
)
struct SecretServiceClientTests {
    private let world: SecretServiceWorld

    init() async throws { world = try await SecretServiceWorld() }

    @Test(
        "secret-tool stores, finds, lists, locks and deletes; cold it asks once; cancelled it gets nothing"
    )
    func secretTool() async throws {
        let store = ["store", "--label=Mail", "user", "alice", "server", "example.org"]
        #expect(
            try await world.run(
                tool,
                store[0],
                store[1],
                store[2],
                store[3],
                store[4],
                store[5],
                input: "hello"
            ).status == 0
        )
        let found = try await world.run(tool, "lookup", "user", "alice")
        #expect(found.status == 0 && found.text == "hello", "\(found.errors)")
        #expect(try await world.run(tool, "lookup", "user", "bob").status == 1)
        let list = try await world.run(tool, "search", "--all", "user", "alice")
        #expect(list.text.contains("label = Mail") && list.text.contains("secret = hello"))
        #expect(list.errors.contains("attribute.server = example.org"))

        try await world.makeCold()
        let before = world.keychain.boxes.count
        let cold = try await world.run(tool, "lookup", "user", "alice")
        #expect(cold.status == 0 && cold.text == "hello", "\(cold.errors)")
        let box = try #require(world.keychain.boxes.last)
        #expect(world.keychain.boxes.count == before + 1)
        #expect(box.contains("Requested by the Secret Service, for /usr/bin/secret-tool (process"), "\(box)")

        try await world.makeCold()
        #expect(try await world.run(tool, "lookup", "user", "bob").status == 1)

        try await world.makeCold()
        try world.keychain.setCancels(true)
        let cancelled = try await world.run(tool, "lookup", "user", "alice")
        #expect(cancelled.status == 1 && cancelled.text.isEmpty)
        try world.keychain.setCancels(false)
        // libsecret deletes what is unlocked, and only that.
        #expect(try await world.run(tool, "lookup", "user", "alice").status == 0)
        #expect(try await world.run(tool, "clear", "user", "alice").status == 0)
        #expect(try await world.run(tool, "lookup", "user", "alice").status == 1)
    }

    private func python(_ script: String) async throws -> CommandResult {
        let file = world.keychain.home.path + "/client.py"
        try script.write(toFile: file, atomically: true, encoding: .utf8)
        return try await world.run(interpreter, file)
    }

    @Test(
        "Python's keyring and secretstorage store, find and delete, warm and cold"
    )
    func keyring() async throws {
        let result = try await python(
            """
            import keyring
            from keyring.backends import SecretService
            keyring.set_keyring(SecretService.Keyring())
            keyring.set_password("svc", "bob", "one")
            print(keyring.get_password("svc", "bob"))
            keyring.set_password("svc", "bob", "two")
            print(keyring.get_password("svc", "bob"))
            print(keyring.get_password("svc", "nobody"))
            """
        )
        #expect(result.status == 0 && result.text == "one\ntwo\nNone\n", "\(result.errors)")
        try await world.makeCold()
        let before = world.keychain.boxes.count
        let cold = try await python(
            """
            from keyring.backends import SecretService
            ring = SecretService.Keyring()
            print(ring.get_password("svc", "bob"))
            ring.delete_password("svc", "bob")
            print(ring.get_password("svc", "bob"))
            """
        )
        #expect(cold.status == 0 && cold.text == "two\nNone\n", "\(cold.errors)")
        #expect(world.keychain.boxes.count == before + 1)
    }

    @Test(
        "libsecret by introspection: encrypted sessions, collections, items, locks"
    )
    func libsecret() async throws {
        let result = try await python(
            """
            import gi
            gi.require_version("Secret", "1")
            from gi.repository import Secret
            schema = Secret.Schema.new("org.example.t", Secret.SchemaFlags.NONE, {"n": Secret.SchemaAttributeType.STRING})
            print(Secret.password_store_sync(schema, {"n": "1"}, Secret.COLLECTION_DEFAULT, "label", "sekret", None))
            print(Secret.password_lookup_sync(schema, {"n": "1"}, None))
            print(Secret.password_store_sync(schema, {"n": "s"}, Secret.COLLECTION_SESSION, "label", "brief", None))
            print(Secret.password_lookup_sync(schema, {"n": "s"}, None))
            service = Secret.Service.get_sync(Secret.ServiceFlags.LOAD_COLLECTIONS, None)
            print([c.get_label() for c in service.get_collections()])
            c = Secret.Collection.for_alias_sync(service, "default", Secret.CollectionFlags.LOAD_ITEMS, None)
            print(c.get_label(), c.get_locked(), [i.get_label() for i in c.get_items()])
            print(service.lock_sync([c], None)[0], Secret.password_lookup_sync(schema, {"n": "1"}, None))
            made = Secret.Collection.create_sync(service, "Work", None, Secret.CollectionCreateFlags.NONE, None)
            value = Secret.Value.new("inner", -1, "text/plain")
            item = Secret.Item.create_sync(made, schema, {"n": "w"}, "in", value, Secret.ItemCreateFlags.NONE, None)
            item.load_secret_sync(None)
            print(made.get_object_path(), item.get_secret().get_text())
            print(made.delete_sync(None), Secret.password_lookup_sync(schema, {"n": "w"}, None))
            print(Secret.password_clear_sync(schema, {"n": "1"}, None))
            """
        )
        #expect(
            result.text == """
                True
                sekret
                True
                brief
                ['Login', 'Session']
                Login False ['label']
                1 sekret
                /org/freedesktop/secrets/collection/Work inner
                True None
                True

                """,
            "\(result.errors)"
        )
    }

    @Test(
        "xdg-desktop-portal finds the portal by its file, and gives a program its key",
        .enabled(
            if: FileManager.default.isExecutableFile(atPath: portalProgram),
            "xdg-desktop-portal is not installed"
        )
    )
    func portal() async throws {
        let portals = world.keychain.home.path + "/portals"
        try FileManager.default.createDirectory(atPath: portals, withIntermediateDirectories: true)
        try FileManager.default.copyItem(
            atPath: Programs.sources.path + "/dist/secrets/touchstone.portal",
            toPath: portals + "/touchstone.portal"
        )
        var run = CommandRun(home: world.keychain.home)
        run.program = portalProgram
        run.environment = world.variables.merging(["XDG_DESKTOP_PORTAL_DIR": portals]) { $1 }
        let running = try run.start()
        defer { kill(running.processID, SIGTERM) }
        let result = try await python(
            """
            import os
            from gi.repository import Gio, GLib
            bus = Gio.bus_get_sync(Gio.BusType.SESSION, None)
            place = "org.freedesktop.portal.Desktop", "/org/freedesktop/portal/desktop"
            def retrieve():
                reader, writer = os.pipe()
                descriptors = Gio.UnixFDList.new()
                index = descriptors.append(writer)
                os.close(writer)
                loop = GLib.MainLoop()
                def end(connection, sender, path, interface, name, arguments):
                    print("response", arguments.unpack())
                    loop.quit()
                path = f"{place[1]}/request/{bus.get_unique_name()[1:].replace('.', '_')}/t"
                heard = bus.signal_subscribe(None, "org.freedesktop.portal.Request", "Response", path, None, 0, end)
                arguments = GLib.Variant("(ha{sv})", (index, {"handle_token": GLib.Variant("s", "t")}))
                while True:
                    try:
                        bus.call_with_unix_fd_list_sync(*place, "org.freedesktop.portal.Secret", "RetrieveSecret", arguments,
                                                        None, 0, 60000, descriptors, None)
                        break
                    except GLib.Error as error:
                        # It is still starting.
                        if "ServiceUnknown" not in str(error) and "UnknownMethod" not in str(error):
                            raise
                loop.run()
                bus.signal_unsubscribe(heard)
                del descriptors
                os.set_blocking(reader, False)
                return os.read(reader, 100)
            first = retrieve()
            print(len(first), retrieve() == first)
            """
        )
        #expect(
            result.text == "response (0, {})\nresponse (0, {})\n64 True\n",
            "\(result.text)\(result.errors)"
        )
    }

    @Test(
        "git's helper for libsecret stores, fills in and erases",
        .enabled(
            if: FileManager.default.fileExists(atPath: helperSource),
            "git's source of its helper is not installed"
        )
    )
    func gitHelper() async throws {
        let helper = world.keychain.home.path + "/git-credential-libsecret"
        let built = try await world.run(
            "/bin/sh",
            "-c",
            "cc -w -o \(helper) \(helperSource) $(pkg-config --cflags --libs libsecret-1)"
        )
        #expect(built.status == 0, "\(built.errors)")
        let place = "protocol=https\nhost=git.example.org\n"
        #expect(try await world.run(helper, "store", input: place + "username=u\npassword=p w\n").status == 0)
        let filled = try await world.run(helper, "get", input: place)
        #expect(filled.text == "username=u\npassword=p w\n", "\(filled.errors)")
        #expect(try await world.run(helper, "erase", input: place + "username=u\n").status == 0)
        #expect(try await world.run(helper, "get", input: place).text.isEmpty)
    }

    @Test("one command's programs use this keychain and nothing else changes")
    func tryOut() async throws {
        #expect(try await world.run(tool, "store", "--label=x", "n", "1", input: "hello").status == 0)
        try await world.stopDoor()
        let tried = try await world.touchstone("secrets", "try", tool, "lookup", "n", "1")
        #expect(tried.status == 0 && tried.text == "hello", "\(tried.errors)")
        #expect(try await world.touchstone("secrets", "try", "/bin/sh", "-c", "exit 7").status == 7)
        #expect(try await world.run(SecretServiceWorld.program, "--owner").text.isEmpty)
    }

    @Test("enabled, the first program that asks starts the door; disabled, the files are gone")
    func enable() async throws {
        let status = try await world.touchstone("secrets", "status")
        #expect(status.text.contains("Served by this keychain, process \(world.doorProcess)."))
        #expect(status.text.contains("Not enabled"))
        let enabled = try await world.touchstone("secrets", "enable")
        #expect(enabled.status == 0, "\(enabled.errors)")
        let home = world.keychain.home.path
        let file = home + "/.local/share/dbus-1/services/org.freedesktop.secrets.service"
        #expect(
            try String(contentsOfFile: file, encoding: .utf8).contains("Exec=\(SecretServiceWorld.program)\n")
        )
        #expect(
            FileManager.default.fileExists(atPath: home + "/.config/autostart/gnome-keyring-secrets.desktop")
        )
        let json = try await world.touchstone("secrets", "status", "--json")
        #expect(json.text.contains("\"enabled\": true") || json.text.contains("\"enabled\":true"))
        #expect(try await world.touchstone("secrets", "enable").status == 0)
        let process = world.doorProcess
        #expect(try await world.touchstone("secrets", "disable").status == 0)
        #expect(!FileManager.default.fileExists(atPath: file))
        try await Deadline.wait(for: "the end of the door") { ChildProcess.hasEnded(process) ? true : nil }

        // A file that is not ours stays.
        try "[D-BUS Service]\n".write(toFile: file, atomically: true, encoding: .utf8)
        let refused = try await world.touchstone("secrets", "enable")
        #expect(refused.status == 10 && refused.errors.contains("was not written by this command"))
        #expect(try await world.touchstone("secrets", "disable").errors.contains("It was not enabled."))
        #expect(try String(contentsOfFile: file, encoding: .utf8) == "[D-BUS Service]\n")
    }
}
