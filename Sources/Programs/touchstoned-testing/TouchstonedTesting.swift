import TouchstoneDaemon

/// The daemon of tests: its configuration may name other parts than the machine's own (`test.…`).
///
/// It is never installed. What it keeps has the assurance `test`, and it opens no keybag that was made without it.
@main
enum TouchstonedTesting {
    static func main() {
        DaemonProgram.main(startsClean: false) { settings throws(Setting.Fault) in
            let parts = try TestParts(takingFrom: &settings)
            return parts.daemonParts
        }
    }
}
