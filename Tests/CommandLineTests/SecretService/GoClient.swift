/// The calls of github.com/zalando/go-keyring (MIT licence) in their order, written anew; Debian has no package of it.
enum GoClient {
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
