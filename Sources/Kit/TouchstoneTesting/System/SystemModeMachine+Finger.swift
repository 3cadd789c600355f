import FingerprintDriver

/// A sensor on the machine's bus: fprintd with libfprint's virtual sensor, and its users' fingers.
package struct MachineSensor: Sendable {
    /// The bus of fprintd.
    package let bus: PrivateBus
    private let broker: SystemBroker
    private let reader: VirtualReader

    init(_ bus: PrivateBus, _ broker: SystemBroker) {
        (self.bus, self.broker) = (bus, broker)
        reader = VirtualReader(bus)
    }

    /// Enrols a user's finger.
    package func enrol(_ finger: SyntheticFinger, of user: SystemModeMachine.Account) async throws {
        try await Enroller(bus, user: user.name).enrol(finger)
    }

    /// Touches the sensor with another impression of a finger, once it is armed.
    ///
    /// - Throws: ``TestKitError/timedOut(_:)`` when the sensor is not armed in time; nothing is touched then.
    package func touch(
        _ finger: SyntheticFinger,
        impression: Int = 40,
        atMost limit: Duration = Deadline.patience
    ) async throws {
        try await reader.waitUntilWanted(atMost: limit)
        try reader.put(finger.impression(impression))
    }

    /// Waits until the sensor is armed.
    package func armed() async throws { try await reader.waitUntilWanted() }

    /// Whether the sensor gets armed within a time.
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
    /// Starts the machine's bus with a sensor, with the given polkit rules, and a broker that reads the sensor's
    /// templates.
    package func startSensor(rules: String) async throws -> MachineSensor {
        let bus = try await startBus(sensors: [.image], rules: rules)
        return MachineSensor(bus, try await startBroker(templates: bus.templateDirectory))
    }
}
