import TouchstoneDaemon

/// The installed daemon: the machine's own sensor, bus, TPM and pinentry program, without a way to replace them.
@main
enum Touchstoned {
    static func main() { DaemonProgram.main() }
}
