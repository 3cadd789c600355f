import TouchstoneBroker

/// The broker as it is installed.
@main
enum TouchstoneBrokerProgram {
    static func main() { BrokerProgram.main() }
}
