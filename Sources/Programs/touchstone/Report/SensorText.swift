import KeychainModel

extension SensorFacts {
    /// The grade, and where it comes from.
    var sentence: String {
        switch (grade, gradedBy) {
        case (.ungraded, .nobody): "ungraded, which counts as weak"
        case (.ungraded, _): "ungraded, accepted by \(source)"
        case (.weak, _): "weak, by \(source)"
        case (.strong, _): "strong, by \(source)"
        case (.unsafe, _): "unsafe, by \(source): no finger on it counts"
        }
    }

    private var source: String {
        switch gradedBy {
        case .nobody: "nobody"
        case .administrator: "/etc/touchstone/sensors.conf"
        case .settings: "touchstoned.conf"
        case .driver: "what is known of its driver"
        }
    }
}

extension AuthenticationStatus {
    /// Whether the sensor was there since the daemon's start, and is gone.
    var isSensorUnplugged: Bool { sensorFault == FingerprintError(.disconnected).cause }
}
