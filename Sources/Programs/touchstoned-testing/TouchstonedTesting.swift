import TouchstoneDaemon

/// The daemon for tests: its configuration may replace parts of the machine (`test.…`).
///
/// It is never installed. Its keychains have the assurance `test`, and it opens no keybag that a daemon without test
/// parts made.
@main
enum TouchstonedTesting {
    static func main() {
        DaemonProgram.main(startsClean: false) { settings throws(Setting.Fault) in
            let parts = try TestParts(takingFrom: &settings)
            return parts.daemonParts
        }
    }
}
