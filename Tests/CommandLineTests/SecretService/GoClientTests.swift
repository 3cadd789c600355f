import Foundation
import Glibc
import KeychainModel
import MessageBus
import ScriptedDaemon
import Testing
import TouchstoneTesting

private let compiler = "/usr/bin/go"
private let packages = "/usr/share/gocode"

/// A program in Go that makes the calls of the library that most programs in Go use, by which `gh` and others keep their tokens.
@Suite(
    "Go's keyring at the Secret Service",
    .enabled(
        if: SecretServiceWorld.isPossible,
        "touchstone-secrets, its daemon and dbus-daemon are not all there"
    ),
    .enabled(
        if: Programs.isBuilt(compiler)
            && FileManager.default.fileExists(atPath: packages + "/src/github.com/godbus/dbus"),
        "golang-go and golang-dbus-dev are not both installed"
    ),
    .timeLimit(.minutes(10))
)
struct GoClientTests {
    private static let missing = "secret not found in keyring"
    private static let failed = "failed to unlock correct collection '\(SecretServiceWorld.login)'"

    /// Compiles the program; its path.
    private func compile(in world: SecretServiceWorld) async throws -> String {
        let home = world.keychain.home
        try GoClient.source.write(toFile: home.path + "/client.go", atomically: true, encoding: .utf8)
        var run = CommandRun("build", "-o", home.path + "/client", home.path + "/client.go", home: home)
        run.program = compiler
        run.environment = [
            "HOME": home.path, "GOCACHE": home.path + "/go-cache", "GOPATH": packages, "GO111MODULE": "off",
            "GOTMPDIR": home.path,
        ]
        let result = try await run.run()
        guard result.status == 0 else { throw TestKitError.unexpected(result.errors) }
        return home.path + "/client"
    }

    /// Runs the program; a line for each deed.
    private func does(_ deeds: String..., by program: String, in world: SecretServiceWorld) async throws
        -> [String]
    {
        var run = CommandRun(arguments: deeds, home: world.keychain.home)
        run.program = program
        run.terminal = try PseudoTerminal()
        run.environment = world.variables
        let result = try await run.run()
        guard result.status == 0 else { throw TestKitError.unexpected(result.errors) }
        return result.text.split(separator: "\n").map(String.init)
    }

    // MARK: Beside GNOME Keyring

    private static let deeds = [
        "set svc bob one", "get svc bob", "get svc nobody", "set svc bob two", "get svc bob", "set svc al x",
        "set other bob y", "get svc al", "delete svc nobody", "delete svc bob", "get svc bob",
        "delete-all svc", "get svc al", "get other bob", "delete-all none",
    ]

    /// What the deeds give, and then what is there; at last in a locked collection that nobody unlocks.
    private func outcomes(in world: SecretServiceWorld, by program: String) async throws
        -> [(name: String, outcome: String)]
    {
        var run = CommandRun(arguments: Self.deeds, home: world.keychain.home)
        run.program = program
        run.environment = world.variables
        let result = try await run.run()
        var outcomes = zip(Self.deeds, result.text.split(separator: "\n")).map { ($0, String($1)) }
        let client = try await world.client()
        let (unlocked, locked) = try await client.search(["service": "other"])
        for path in unlocked + locked {
            let label = try await client.property(path, SecretsPeer.item, "Label")?.text ?? ""
            let attributes =
                try await client.property(path, SecretsPeer.item, "Attributes")?.textPairs ?? [:]
            outcomes.append(
                ("what is left", label + " \(attributes.filter { $0.key != "xdg:schema" }.sorted(by: <))")
            )
        }
        try world.keychain.setCancels(true)
        #expect(try await client.lock([SecretServiceWorld.login]) == [SecretServiceWorld.login])
        // After a third cancelled box in a row the door would show none for a minute.
        for deed in ["get other bob", "set other bob z"] {
            let line = try await does(deed, by: program, in: world)
            outcomes.append(("locked: " + deed, line.joined()))
        }
        return outcomes
    }

    @Test(
        "set, get, replace, delete and delete all, and in a locked collection nothing, as with GNOME Keyring",
        .enabled(
            if: Programs.isBuilt("/usr/bin/gnome-keyring-daemon"),
            "gnome-keyring is not installed"
        )
    )
    func same() async throws {
        let world = try await SecretServiceWorld()
        let program = try await compile(in: world)
        let ours = try await outcomes(in: world, by: program)
        let other = try await SecretServiceWorld(startsDoor: false)
        let keyring = try await other.startKeyring()
        let theirs = try await outcomes(in: other, by: program)
        kill(keyring.processID, SIGTERM)
        _ = await keyring.result()
        for (ours, theirs) in zip(ours, theirs) where ours != theirs {
            print("differs: \(ours.name): GNOME Keyring \(theirs.outcome), Touchstone \(ours.outcome)")
        }
        #expect(ours.map(\.name) == theirs.map(\.name) && ours.map(\.outcome) == theirs.map(\.outcome))
        let (missing, failed) = (Self.missing, Self.failed)
        #expect(
            ours.map(\.outcome) == [
                "done", "one", missing, "done", "two", "done", "done", "x", missing, "done", missing, "done",
                missing, "y", "done",
                #"Password for 'bob' on 'other' [(key: "service", value: "other"), (key: "username", value: "bob")]"#,
                failed, failed,
            ]
        )

        // Who gives the passcode gets what was there.
        try world.keychain.setCancels(false)
        let before = world.keychain.boxes.count
        #expect(try await does("get other bob", by: program, in: world) == ["y"])
        #expect(world.keychain.boxes.count == before + 1)
    }

    // MARK: Before the first unlock

    @Test(
        "before the first unlock each of its deeds asks once; cancelled it fails and changes nothing"
    )
    func cold() async throws {
        let world = try await SecretServiceWorld()
        let program = try await compile(in: world)
        let (missing, failed) = (Self.missing, Self.failed)
        #expect(
            try await does("set svc bob one", "set svc al x", by: program, in: world) == ["done", "done"]
        )
        for (deed, outcome) in [
            ("get svc bob", "one"), ("get svc nobody", missing), ("set svc bob two", "done"),
            ("get svc bob", "two"), ("delete svc nobody", missing), ("delete svc bob", "done"),
            ("get svc bob", missing), ("delete-all svc", "done"), ("get svc al", missing),
            ("set svc bob three", "done"),
        ] {
            try await makeCold(world)
            let before = world.keychain.boxes.count
            #expect(try await does(deed, by: program, in: world) == [outcome], "\(deed)")
            #expect(world.keychain.boxes.count == before + 1, "\(deed)")
        }
        let box = try #require(world.keychain.boxes.last)
        #expect(box.contains("Requested by the Secret Service, for \(program) (process"), "\(box)")

        try world.keychain.setCancels(true)
        for deed in ["get svc bob", "set svc bob four", "delete svc bob", "delete-all svc"] {
            try await makeCold(world)
            let before = world.keychain.boxes.count
            #expect(try await does(deed, by: program, in: world) == [failed], "\(deed)")
            #expect(world.keychain.boxes.count == before + 1, "\(deed)")
        }
        try world.keychain.setCancels(false)
        #expect(try await does("get svc bob", by: program, in: world) == ["three"])
    }

    @Test(
        "a protected secret is read with a gesture, which it asks for by itself, and replaced without one"
    )
    func protected() async throws {
        let world = try await SecretServiceWorld()
        let program = try await compile(in: world)
        #expect(try await does("set svc bob one", by: program, in: world) == ["done"])
        let made = try await world.touchstone(
            "protect",
            "--match",
            "service=svc",
            "--require",
            "passcode"
        )
        #expect(
            made.status == 0 && made.errors.contains("1 secret requires passcode now."),
            "\(made.errors)"
        )
        let before = world.keychain.boxes.count
        #expect(try await does("get svc bob", by: program, in: world) == ["one"])
        let box = try #require(world.keychain.boxes.last)
        #expect(
            world.keychain.boxes.count == before + 1 && box.contains("Read the secret 'Password for"),
            "\(box)"
        )
        #expect(try await does("set svc bob two", by: program, in: world) == ["done"])
        #expect(world.keychain.boxes.count == before + 1)
        #expect(try await does("get svc bob", by: program, in: world) == ["two"])
        #expect(world.keychain.boxes.count == before + 2)

        try world.keychain.setCancels(true)
        let refused = try await does("get svc bob", by: program, in: world)
        #expect(
            refused.count == 1 && refused[0].hasPrefix("failed to unlock correct collection '"),
            "\(refused)"
        )
        #expect(try await does("delete svc bob", by: program, in: world) == ["done"])
    }

    /// Restarts the daemon: the keychain has not been unlocked since.
    private func makeCold(_ world: SecretServiceWorld) async throws {
        try world.keychain.stop(with: SIGTERM)
        #expect(try await world.touchstone("status").status == 0)
    }
}

/// The calls of github.com/zalando/go-keyring (MIT licence) in their order, written anew; Debian has no package of it.
private enum GoClient {
    static let source = #"""
        package main

        import (
            "fmt"
            "os"
            "strings"

            "github.com/godbus/dbus"
        )

        const (
            name    = "org.freedesktop.secrets"
            root    = dbus.ObjectPath("/org/freedesktop/secrets")
            login   = root + "/collection/login"
            alias   = root + "/aliases/default"
            secrets = "org.freedesktop.Secret."
        )

        type secret struct {
            Session    dbus.ObjectPath
            Parameters []byte
            Value      []byte
            Type       string
        }

        type keyring struct{ bus *dbus.Conn }

        // call calls a method and stores the reply.
        func (k keyring) call(path dbus.ObjectPath, method string, arguments []any, reply ...any) error {
            call := k.bus.Object(name, path).Call(secrets+method, 0, arguments...)
            if call.Err != nil || len(reply) == 0 {
                return call.Err
            }
            return call.Store(reply...)
        }

        // prompt shows a prompt and gives its result; whether it was dismissed, the library does not look at.
        func (k keyring) prompt(path dbus.ObjectPath) (any, error) {
            if path == "/" {
                return nil, nil
            }
            match := []dbus.MatchOption{dbus.WithMatchObjectPath(path), dbus.WithMatchInterface(secrets + "Prompt")}
            if err := k.bus.AddMatchSignal(match...); err != nil {
                return nil, err
            }
            defer k.bus.RemoveMatchSignal(match...)
            signals := make(chan *dbus.Signal, 1)
            k.bus.Signal(signals)
            if err := k.call(path, "Prompt.Prompt", []any{""}); err != nil {
                return nil, err
            }
            signal := <-signals
            if signal.Name != secrets+"Prompt.Completed" {
                return nil, nil
            }
            return signal.Body[1].(dbus.Variant).Value(), nil
        }

        func (k keyring) unlock(path dbus.ObjectPath) error {
            var unlocked []dbus.ObjectPath
            var prompt dbus.ObjectPath
            if err := k.call(root, "Service.Unlock", []any{[]dbus.ObjectPath{path}}, &unlocked, &prompt); err != nil {
                return err
            }
            result, err := k.prompt(prompt)
            if err != nil {
                return err
            }
            if paths, ok := result.([]dbus.ObjectPath); ok {
                unlocked = append(unlocked, paths...)
            }
            if len(unlocked) != 1 || (path != alias && unlocked[0] != path) {
                return fmt.Errorf("failed to unlock correct collection '%v'", path)
            }
            return nil
        }

        // collection is the one named login if the service lists it, and else the default one.
        func (k keyring) collection() dbus.ObjectPath {
            value, err := k.bus.Object(name, root).GetProperty(secrets + "Service.Collections")
            if err == nil {
                for _, path := range value.Value().([]dbus.ObjectPath) {
                    if path == login {
                        return login
                    }
                }
            }
            return alias
        }

        func (k keyring) open() (session dbus.ObjectPath, err error) {
            var output dbus.Variant
            err = k.call(root, "Service.OpenSession", []any{"plain", dbus.MakeVariant("")}, &output, &session)
            return
        }

        func (k keyring) find(attributes map[string]string) (items []dbus.ObjectPath, err error) {
            collection := k.collection()
            if err = k.unlock(collection); err != nil {
                return
            }
            err = k.call(collection, "Collection.SearchItems", []any{attributes}, &items)
            return
        }

        func (k keyring) remove(item dbus.ObjectPath) error {
            var prompt dbus.ObjectPath
            if err := k.call(item, "Item.Delete", nil, &prompt); err != nil {
                return err
            }
            _, err := k.prompt(prompt)
            return err
        }

        func (k keyring) set(service, user, password string) error {
            session, err := k.open()
            if err != nil {
                return err
            }
            defer k.call(session, "Session.Close", nil)
            collection := k.collection()
            if err := k.unlock(collection); err != nil {
                return err
            }
            properties := map[string]dbus.Variant{
                secrets + "Item.Label":      dbus.MakeVariant(fmt.Sprintf("Password for '%s' on '%s'", user, service)),
                secrets + "Item.Attributes": dbus.MakeVariant(map[string]string{"username": user, "service": service}),
            }
            value := secret{session, []byte{}, []byte(password), "text/plain; charset=utf8"}
            var item, prompt dbus.ObjectPath
            if err := k.call(collection, "Collection.CreateItem", []any{properties, value, true}, &item, &prompt); err != nil {
                return err
            }
            _, err = k.prompt(prompt)
            return err
        }

        func (k keyring) get(service, user string) (string, error) {
            items, err := k.find(map[string]string{"username": user, "service": service})
            if err != nil {
                return "", err
            }
            if len(items) == 0 {
                return "", fmt.Errorf("secret not found in keyring")
            }
            session, err := k.open()
            if err != nil {
                return "", err
            }
            defer k.call(session, "Session.Close", nil)
            if err := k.unlock(items[0]); err != nil {
                return "", err
            }
            var value secret
            err = k.call(items[0], "Item.GetSecret", []any{session}, &value)
            return string(value.Value), err
        }

        func (k keyring) delete(service, user string) error {
            items, err := k.find(map[string]string{"username": user, "service": service})
            if err != nil {
                return err
            }
            if len(items) == 0 {
                return fmt.Errorf("secret not found in keyring")
            }
            return k.remove(items[0])
        }

        func (k keyring) deleteAll(service string) error {
            items, err := k.find(map[string]string{"service": service})
            for _, item := range items {
                if err == nil {
                    err = k.remove(item)
                }
            }
            return err
        }

        // Each argument is one deed, its words divided by spaces; each writes a line.
        func main() {
            bus, err := dbus.ConnectSessionBus()
            if err != nil {
                fmt.Println(err)
                os.Exit(2)
            }
            k := keyring{bus}
            for _, deed := range os.Args[1:] {
                words := strings.Fields(deed)
                text := "done"
                switch words[0] {
                case "set":
                    err = k.set(words[1], words[2], words[3])
                case "get":
                    text, err = k.get(words[1], words[2])
                case "delete":
                    err = k.delete(words[1], words[2])
                case "delete-all":
                    err = k.deleteAll(words[1])
                }
                if err != nil {
                    text = err.Error()
                }
                fmt.Println(text)
            }
        }
        """#
}
