import Glibc
package import KeychainModel
package import MessageBus

extension FingerprintError {
    /// Translates a bus error to fprintd's own names; unknown names are kept whole.
    package init(_ error: BusError) {
        switch error {
        case .system(let number):
            self.init(number == ETIMEDOUT ? .noReply : .noBus, message: SystemError.name(of: number))
        case .malformed:
            self.init(.internal, message: "a message is not what its interface says")
        case .remote(let name, let message):
            self.init(Self.code(name), message: "\(name): \(message)")
        }
    }

    private static func code(_ name: String) -> Code {
        if name.hasPrefix(Fprint.errorPrefix) {
            return Code(rawValue: String(name.dropFirst(Fprint.errorPrefix.count)))
        }
        let busPrefix = "org.freedesktop.DBus.Error."
        guard name.hasPrefix(busPrefix) else { return Code(rawValue: name) }
        let short = String(name.dropFirst(busPrefix.count))
        switch short {
        case "ServiceUnknown", "NameHasNoOwner": return .serviceUnknown
        case "NoReply", "Timeout", "TimedOut": return .noReply
        case "AccessDenied", "InteractiveAuthorizationRequired": return .permissionDenied
        case "Disconnected", "NoServer": return .noBus
        // The sensor's object is missing: it was unplugged.
        case "UnknownObject", "UnknownInterface", "UnknownMethod": return .noSuchDevice
        case _ where short.hasPrefix("Spawn."): return .serviceUnknown
        default: return Code(rawValue: name)
        }
    }
}
