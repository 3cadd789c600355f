// swift-format-ignore-file
// The lines are those of another language.

/// A program that makes the calls of `org.freedesktop.secrets` by GNOME's libraries and by secret-tool, and writes a line for each: its
/// name and what came.
enum SecretServiceCalls {
    static let script = #"""
        import os, re, subprocess, sys
        from gi.repository import Gio, GLib
        bus = Gio.bus_get_sync(Gio.BusType.SESSION, None)
        NAME, ROOT = "org.freedesktop.secrets", "/org/freedesktop/secrets"
        SERVICE, COLLECTION, ITEM = ("org.freedesktop.Secret." + n for n in ("Service", "Collection", "Item"))
        PROPERTIES = "org.freedesktop.DBus.Properties"

        def call(path, interface, method, kind="()", *arguments):
            reply = bus.call_sync(NAME, path, interface, method, GLib.Variant(kind, arguments) if kind != "()" else None, None, 0, 20000, None)
            return reply.unpack()

        def told(name, body):
            try:
                print(f"{name}: {body()}")
            except GLib.Error as error:
                print(f"{name}: {Gio.dbus_error_get_remote_error(error) or error.message}")

        def tool(*arguments, text=None):
            done = subprocess.run(("secret-tool",) + arguments, input=text, capture_output=True, text=True)
            lines = [l for l in (done.stdout + done.stderr).splitlines() if not re.match(r"(created|modified|schema|\[)", l)]
            return done.returncode, sorted(lines)

        def get(path, interface, name):
            return call(path, PROPERTIES, "Get", "(ss)", interface, name)[0]

        def create(attributes, secret, replace=False, label="label", kind="text/plain", where=ROOT + "/aliases/default"):
            properties = {ITEM + ".Label": GLib.Variant("s", label), ITEM + ".Attributes": GLib.Variant("a{ss}", attributes)}
            return call(where, COLLECTION, "CreateItem", "(a{sv}(oayays)b)", properties, (session, b"", secret, kind), replace)[0]

        def secret(path, session_path=None):
            value = call(path, ITEM, "GetSecret", "(o)", session_path or session)[0]
            return bytes(value[2]), value[3]

        told("secret-tool store", lambda: tool("store", "--label=Mail", "user", "alice", "server", "example.org", text="hello"))
        told("secret-tool lookup", lambda: tool("lookup", "user", "alice"))
        told("secret-tool lookup of two attributes", lambda: tool("lookup", "user", "alice", "server", "example.org"))
        told("secret-tool lookup of nothing", lambda: tool("lookup", "user", "bob"))
        told("secret-tool store again", lambda: tool("store", "--label=Mail 2", "user", "alice", "server", "example.org", text="hello again"))
        told("secret-tool search", lambda: tool("search", "--all", "user", "alice"))
        told("secret-tool empty secret", lambda: tool("store", "--label=Empty", "user", "empty", text=""))
        told("secret-tool lookup of an empty secret", lambda: tool("lookup", "user", "empty"))
        told("secret-tool clear", lambda: tool("clear", "user", "alice"))
        told("secret-tool clear of nothing", lambda: tool("clear", "user", "alice"))
        told("secret-tool in the session", lambda: tool("store", "--collection=session", "--label=Brief", "user", "brief", text="brief"))
        told("secret-tool lookup in the session", lambda: tool("lookup", "user", "brief"))

        told("an unknown algorithm", lambda: call(ROOT, SERVICE, "OpenSession", "(sv)", "rot13", GLib.Variant("s", "")))
        told("a plain session with octets", lambda: len(call(ROOT, SERVICE, "OpenSession", "(sv)", "plain", GLib.Variant("ay", b"x"))))
        told("an agreement with a text", lambda: call(ROOT, SERVICE, "OpenSession", "(sv)", "dh-ietf1024-sha256-aes128-cbc-pkcs7", GLib.Variant("s", "x")))
        session = call(ROOT, SERVICE, "OpenSession", "(sv)", "plain", GLib.Variant("s", ""))[1]
        told("the alias default", lambda: call(ROOT, SERVICE, "ReadAlias", "(s)", "default")[0] != "/")
        told("an alias of nothing", lambda: call(ROOT, SERVICE, "ReadAlias", "(s)", "nothing"))
        told("an alias for nothing there", lambda: call(ROOT, SERVICE, "SetAlias", "(so)", "x", ROOT + "/collection/nothere"))
        told("the label of a collection", lambda: isinstance(get(ROOT + "/aliases/default", COLLECTION, "Label"), str))
        told("a property that is not there", lambda: get(ROOT + "/aliases/default", COLLECTION, "Nothing"))
        told("a method that is not there", lambda: call(ROOT, SERVICE, "Nothing"))
        told("an object that is not there", lambda: call(ROOT + "/collection/nothere", COLLECTION, "SearchItems", "(a{ss})", {}))
        one = create({"n": "1", "k": "x"}, b"one")
        two = create({"n": "2", "k": "x"}, b"\x00\xff\n", kind="application/octet-stream")
        told("a secret", lambda: secret(one))
        told("a binary secret", lambda: secret(two))
        told("a session that is not there", lambda: secret(one, ROOT + "/session/nothere"))
        told("a search for both", lambda: sorted(call(ROOT, SERVICE, "SearchItems", "(a{ss})", {"k": "x"})[0]) == sorted([one, two]))
        told("a search for nothing", lambda: call(ROOT, SERVICE, "SearchItems", "(a{ss})", {"k": "y"}))
        told("a search in a collection", lambda: len(call(ROOT + "/aliases/default", COLLECTION, "SearchItems", "(a{ss})", {"k": "x"})[0]))
        told("secrets of both and of nothing", lambda: sorted(bytes(v[2]) for v in call(ROOT, SERVICE, "GetSecrets", "(aoo)", [one, two, ROOT + "/collection/login/nothere"], session)[0].values()))
        told("replaced by the same attributes", lambda: create({"n": "1", "k": "x"}, b"new", True) == one)
        told("a second of the same attributes", lambda: create({"n": "1", "k": "x"}, b"second") != one)
        told("the label", lambda: get(one, ITEM, "Label"))
        told("a new label", lambda: call(one, PROPERTIES, "Set", "(ssv)", ITEM, "Label", GLib.Variant("s", "new label")))
        told("the new label", lambda: get(one, ITEM, "Label"))
        told("the attributes", lambda: {k: v for k, v in get(one, ITEM, "Attributes").items() if k != "xdg:schema"})
        told("new attributes", lambda: call(one, PROPERTIES, "Set", "(ssv)", ITEM, "Attributes", GLib.Variant("a{ss}", {"m": "1"})))
        told("the new attributes", lambda: {k: v for k, v in get(one, ITEM, "Attributes").items() if k != "xdg:schema"})
        told("attributes that are not texts", lambda: call(one, PROPERTIES, "Set", "(ssv)", ITEM, "Attributes", GLib.Variant("a{su}", {"m": 1})))
        told("a property that cannot be set", lambda: call(one, PROPERTIES, "Set", "(ssv)", ITEM, "Locked", GLib.Variant("b", True)))
        told("an unlocked item", lambda: get(one, ITEM, "Locked"))
        told("dates", lambda: (get(one, ITEM, "Created") > 1700000000, get(one, ITEM, "Modified") >= get(one, ITEM, "Created")))
        told("a new secret", lambda: call(one, ITEM, "SetSecret", "((oayays))", (session, b"", b"set", "text/plain")))
        told("the new secret", lambda: secret(one))
        told("to unlock what is unlocked", lambda: call(ROOT, SERVICE, "Unlock", "(ao)", [one, ROOT + "/aliases/default"]) == ([one, ROOT + "/aliases/default"], "/"))
        told("to delete", lambda: call(two, ITEM, "Delete"))
        told("a deleted one", lambda: secret(two))
        told("a collection's items", lambda: one in get(ROOT + "/aliases/default", COLLECTION, "Items"))
        told("an item without attributes", lambda: secret(create({}, b"none"))[0])
        told("a label with control characters", lambda: get(create({"c": "1"}, b"c", label="a\tb\nc"), ITEM, "Label"))
        told("a long secret", lambda: len(secret(create({"l": "1"}, b"x" * 65536))[0]))
        told("to close the session", lambda: call(session, "org.freedesktop.Secret.Session", "Close"))
        told("the closed session", lambda: secret(one))
        """#
}
