import TouchstoneBroker

/// The installed broker.
@main
enum TouchstoneBrokerProgram {
    static func main() { BrokerProgram.main() }
}
