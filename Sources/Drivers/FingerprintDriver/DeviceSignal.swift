import MessageBus

/// A signal of a sensor's object, from a verified sender.
struct DeviceSignal: Hashable, Sendable {
    /// One of the signals of `net.reactivated.Fprint.Device`.
    enum Kind: Hashable, Sendable {
        /// `VerifyStatus(result, done)`
        case verifyStatus(String, done: Bool)
        /// `VerifyFingerSelected(finger)`
        case verifyFingerSelected(String)
        /// `EnrollStatus(result, done)`
        case enrollStatus(String, done: Bool)
        /// `PropertiesChanged` with `finger-present`.
        case fingerPresent(Bool)
    }

    /// The unique name of fprintd.
    let owner: String
    /// The path of the sensor's object.
    let path: String
    /// The signal and its arguments.
    let kind: Kind

    /// Parses a signal; nil for one that is not needed here or does not match its interface.
    init?(owner: String, path: String, interface: String, member: String, arguments: [BusValue]) {
        self.owner = owner
        self.path = path
        switch (interface, member) {
        case (Fprint.deviceInterface, "VerifyStatus"), (Fprint.deviceInterface, "EnrollStatus"):
            guard arguments.count == 2, let result = arguments[0].text, let done = arguments[1].truth
            else { return nil }
            kind =
                member == "VerifyStatus"
                ? .verifyStatus(result, done: done) : .enrollStatus(result, done: done)
        case (Fprint.deviceInterface, "VerifyFingerSelected"):
            guard let finger = arguments.first?.text else { return nil }
            kind = .verifyFingerSelected(finger)
        case (propertiesInterface, "PropertiesChanged"):
            guard arguments.count == 3, arguments[0].text == Fprint.deviceInterface,
                let isPresent = arguments[1].property("finger-present")?.truth
            else { return nil }
            kind = .fingerPresent(isPresent)
        default: return nil
        }
    }
}
