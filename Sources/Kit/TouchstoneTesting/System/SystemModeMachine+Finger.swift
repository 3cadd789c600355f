import FingerprintDriver

/// A sensor on the machine's bus: fprintd with libfprint's virtual one, and fingers of its users.
package struct MachineSensor: Sendable {
    /// The bus that fprintd is on.
    package let bus: PrivateBus
    private let broker: SystemBroker
    private let reader: VirtualReader

    init(_ bus: PrivateBus, _ broker: SystemBroker) {
        (self.bus, self.broker) = (bus, broker)
        reader = VirtualReader(bus)
    }

    /// Enrols a finger of a user's.
    package func enrol(_ finger: SyntheticFinger, of user: SystemModeMachine.Account) async throws {
        try await Enroller(bus, user: user.name).enrol(finger)
    }

    /// Touches the sensor with another impression of a finger, once it is armed.
    ///
    /// - Throws: ``TestKitError/timedOut(_:)`` where nobody arms it in time; nothing is touched then.
    package func touch(
        _ finger: SyntheticFinger,
        impression: Int = 40,
        atMost limit: Duration = Deadline.patience
    ) async throws {
        try await reader.waitUntilWanted(atMost: limit)
        try reader.put(finger.impression(impression))
    }

    /// Whether somebody arms the sensor within a time.
    package func isArmed(within limit: Duration) async throws -> Bool {
        do {
            try await reader.waitUntilWanted(atMost: limit)
            return true
        } catch TestKitError.timedOut {
            return false
        }
    }
}

extension SystemModeMachine {
    /// Starts the machine's bus with a sensor, under some rules of polkit, and a broker that reads the sensor's templates.
    package func startSensor(rules: String) async throws -> MachineSensor {
        let bus = try await startBus(sensors: [.image], rules: rules)
        return MachineSensor(bus, try await startBroker(templates: bus.templateDirectory))
    }
}
