import MessageBus

/// Watches the machine's lid.
extension SessionWatch {
    /// Reports when the lid is closed, until the task is cancelled.
    ///
    /// logind's property `LidClosed` is read again and again: most versions of logind announce no change of it. A lid that was closed
    /// when it was first read, as of a machine at a dock, is not reported.
    ///
    /// - Parameter pause: The time between two reads.
    package func watchLid(every pause: Duration = .seconds(2)) async {
        var wasClosed = true
        while !Task.isCancelled {
            if let isClosed = await isLidClosed() {
                if isClosed, !wasClosed { departureSink.yield(.lidClosed) }
                wasClosed = isClosed
            }
            try? await Task.sleep(for: pause)
        }
    }

    /// Whether the lid is closed; nil if logind does not reply.
    private func isLidClosed() async -> Bool? {
        guard let owner = try? await connection?.logindOwner(), let bus = connection?.bus else { return nil }
        let manager = Bus.Target(owner, Login1.path, propertiesInterface)
        let arguments: [BusValue] = [.string(Login1.managerInterface), .string("LidClosed")]
        return try? await bus.call(manager, "Get", arguments).first?.content?.truth
    }
}
