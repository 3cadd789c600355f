import TouchstoneDaemon

/// The daemon as it is installed: the machine's own sensor, bus, chip and prompt program, and no way to name others.
@main
enum Touchstoned {
    static func main() { DaemonProgram.main() }
}
