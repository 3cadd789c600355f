// swift-format-ignore-file
// The lines are those of another language.

/// A program that looks at Seahorse's window and uses it as a person does: by the accessibility tree, and the pointer where that has no
/// other way. Its first argument is a function of it; it writes what that found, and the texts of all messages that are shown.
enum SeahorseScript {
    static let script = #"""
        import json, os, subprocess, sys, time, warnings
        # The accessors of an object's interfaces, which the library calls obsolete, are those that each version has.
        warnings.simplefilter("ignore")
        import gi
        gi.require_version("Atspi", "2.0")
        from gi.repository import Atspi, GLib
        Atspi.init()

        def tops():
            desktop = Atspi.get_desktop(0)
            found = [desktop.get_child_at_index(index) for index in range(desktop.get_child_count())]
            found = [top for top in found if top and top.get_name() == "seahorse"]
            # What the library remembers of the windows is older than they are.
            for top in found:
                top.clear_cache()
            return found

        def walk(top, inside=False):
            try:
                # Nothing in what is hidden can be seen.
                if inside and not top.get_state_set().contains(Atspi.StateType.SHOWING):
                    return
                yield top
                children = [top.get_child_at_index(index) for index in range(top.get_child_count())]
            except GLib.Error:
                # It was closed meanwhile.
                return
            for child in children:
                if child:
                    yield from walk(child, True)

        def all_of(role, name=None, inside=None):
            things = [thing for top in ([inside] if inside else tops()) for thing in walk(top)]
            return [thing for thing in things if thing.get_role_name() == role and name in (None, thing.get_name())]

        def labels(thing):
            return [label.get_name() for label in all_of("label", None, thing)]

        def seen():
            return [f"{thing.get_role_name()} {thing.get_name()!r}" for top in tops() for thing in walk(top) if thing.get_name()]

        def wait(what, condition, limit=50):
            end = time.monotonic() + limit
            while True:
                try:
                    found = condition()
                except GLib.Error:
                    found = None
                if found:
                    return found
                if time.monotonic() > end:
                    sys.exit(f"never seen: {what}; seen were: " + ", ".join(seen()))
                time.sleep(0.02)

        def has(thing, state):
            return thing.get_state_set().contains(state)

        def press(thing):
            thing.get_action_iface().do_action(0)

        def button(name, inside=None):
            def find():
                return [one for one in all_of("push button", name, inside) if has(one, Atspi.StateType.SENSITIVE)]
            return wait("the button " + name, find)[0]

        def read(entry):
            return Atspi.Text.get_text(entry.get_text_iface(), 0, -1)

        def write(entry, text):
            Atspi.EditableText.set_text_contents(entry.get_editable_text_iface(), text)

        def click(find, times, shows):
            """Clicks on something that can only be pointed at, until it did what it does."""
            def place():
                found = find()
                return found and found.get_component_iface().get_extents(Atspi.CoordType.SCREEN)
            def unmoved():
                before = place()
                time.sleep(0.05)
                after = place()
                return after if after and before and (before.x, before.y) == (after.x, after.y) else None
            where = wait("something to click on", unmoved)
            point = str(where.x + where.width // 2), str(where.y + where.height // 2)
            subprocess.run(["xdotool", "mousemove", *point, "click", "--repeat", str(times), "--delay", "10", "1"], check=True)
            return wait("what the click does", shows)

        def keyrings():
            """The rows at the side, by name."""
            rows = [row for row in all_of("list item") if all_of("icon", None, row) and len(labels(row)) == 1]
            return {labels(row)[0]: row for row in rows}

        def items():
            """The rows of the list by what is seen of them: the name and what is below it, and the type."""
            rows = [row for row in all_of("list item") if all_of("icon", None, row) and len(labels(row)) == 2]
            return {(" / ".join(part for part in labels(row)[1].split("\n") if part), labels(row)[0]): row for row in rows}

        def item(name):
            return next((row for (seen, _), row in items().items() if seen.split(" / ")[0] == name), None)

        def properties():
            return next(iter(all_of("dialog", "Item Properties")), None)

        def opened(name):
            click(lambda: item(name), 2, properties)
            return wait("the properties of " + name, lambda: [properties()] if name in labels(properties()) else None)[0]

        def close(window):
            press(button("Close", window))

        def closed():
            wait("the end of the properties", lambda: not properties())

        def details(window):
            return [label for label in labels(window) if label != "Item Properties"]

        def refusals():
            with open(os.environ["HOME"] + "/seahorse.log") as log:
                return log.read().count("Couldn't load secret")

        def show(*_):
            """Makes the window wide enough for both lists, and chooses the keyring."""
            wait("the window", lambda: all_of("frame"))
            windows = wait("the window on the display", lambda: subprocess.run(
                ["xdotool", "search", "--onlyvisible", "--class", "seahorse"], capture_output=True, text=True).stdout.split())
            for window in windows:
                subprocess.run(["xdotool", "windowmove", window, "0", "0", "windowsize", window, "1000", "750"])
            row = wait("the keyring", lambda: keyrings().get("Login"))
            Atspi.Selection.select_child(row.get_parent(), row.get_index_in_parent())
            wait("the keyring's title", lambda: len(all_of("label", "Login")) == 2)
            return []

        def shown(*names):
            """The rows of the list, as soon as they are those; else what they are in the end."""
            try:
                wait("those rows", lambda: sorted(name for name, _ in items()) == sorted(names), 20)
            except SystemExit:
                pass
            return sorted(f"{name}: {kind}" for name, kind in items())

        def rings(*names):
            """The rows at the side, as soon as those are among them; else what they are in the end."""
            try:
                wait("those keyrings", lambda: set(names) <= set(keyrings()), 20)
            except SystemExit:
                pass
            return sorted(keyrings())

        def secret(name):
            """The secret of an item, hidden and then shown, and what else is said of it."""
            window = opened(name)
            hidden = read(wait("a hidden secret", lambda: [one for one in all_of("password text", None, window) if read(one)])[0])
            press(all_of("icon", "dialog-password-symbolic", window)[0])
            # The first one is its description.
            plain = read(wait("the secret", lambda: all_of("text", None, window)[1:])[0])
            said = details(window)
            close(window)
            closed()
            return [hidden, plain, *said]

        def sealed(name):
            """What is said of an item whose secret does not come, and its empty field."""
            before = refusals()
            window = opened(name)
            wait("a refusal", lambda: refusals() > before)
            fields = all_of("password text", None, window)
            said = details(window)
            result = [read(fields[0]), "can be typed into" if has(fields[0], Atspi.StateType.SENSITIVE) else "grey", *said]
            close(window)
            closed()
            return result

        def change(name, description, text):
            """Gives an item another description and another secret."""
            window = opened(name)
            wait("a hidden secret", lambda: [one for one in all_of("password text", None, window) if read(one)])
            write(all_of("text", None, window)[0], description)
            write(all_of("password text", None, window)[0], text)
            close(window)
            press(button("OK", wait("a question", lambda: all_of("alert"))[0]))
            closed()
            return []

        def choose(what):
            """Chooses something from the menu of new things."""
            menus = all_of("toggle button", "Menu")
            press(min(menus, key=lambda menu: menu.get_component_iface().get_extents(Atspi.CoordType.SCREEN).x))
            def row():
                return next((row for row in all_of("list item") if what in labels(row)), None)
            return click(row, 1, lambda: all_of("dialog"))[0]

        def add(description, text):
            window = choose("Password")
            write(all_of("text", None, window)[0], description)
            write(all_of("password text", None, window)[0], text)
            press(button("Add", window))
            wait("the end of the dialog", lambda: not all_of("dialog"))
            return []

        def ring(name):
            window = choose("Password keyring")
            write(all_of("text", None, window)[0], name)
            press(button("Add", window))
            wait("the end of the dialog", lambda: not all_of("dialog"))
            return []

        def ask(name):
            """Asks to delete an item. The press returns only when Seahorse has its answer, so the next run sees the question."""
            press(button("Delete Password", opened(name)))
            print(json.dumps({"result": [], "alerts": []}))
            sys.stdout.flush()
            os._exit(0)

        def confirm(*_):
            question = wait("a question", lambda: all_of("alert"))[0]
            said = labels(question)
            press(button("Delete", question))
            wait("the end of the dialogs", lambda: not all_of("alert") and not properties())
            return said

        def lock(*_):
            press(all_of("push button", None, keyrings()["Login"])[0])
            button("Unlock")
            return shown()

        def locked(*_):
            """What there is while the keyring is locked."""
            button("Unlock")
            return shown()

        def unlock(*_):
            press(button("Unlock"))
            return []

        result = globals()[sys.argv[1]](*sys.argv[2:])
        # No window says that something went wrong.
        print(json.dumps({"result": result, "alerts": [text for alert in all_of("alert") for text in labels(alert)]}))
        """#
}
