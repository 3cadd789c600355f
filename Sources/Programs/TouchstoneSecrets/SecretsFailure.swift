import Glibc
import MessageBus

/// Why the door exits: what happened and what to do, one line each.
struct SecretsFailure: Error {
    let message: String
    let hint: String
    var status: CInt = 1

    /// The process cannot be protected from others.
    static let unprotected = SecretsFailure(
        message: "the process cannot be protected",
        hint: "start it outside the sandbox"
    )

    /// There is no session bus at this address; nil for no address.
    static func noBus(_ address: String?, _ error: BusError?) -> SecretsFailure {
        let reason = error.map { ": \($0)" } ?? ""
        return SecretsFailure(
            message: address == nil ? "there is no session bus" : "the session bus does not answer\(reason)",
            hint: "start it in a login session, or in dbus-run-session"
        )
    }

    /// The program that has the name is another one.
    static let notOurs = SecretsFailure(
        message: "another program serves \(SecretNames.bus)",
        hint: "touchstone secrets status"
    )

    /// The name belongs to another program, if it is known by this name and process number.
    static func nameTaken(by program: String?) -> SecretsFailure {
        SecretsFailure(
            message: "\(SecretNames.bus) belongs to \(program ?? "another program")",
            hint: "end that program, or switch it off: touchstone secrets status"
        )
    }

    /// Prints both lines on standard error.
    func tell() {
        ErrorStream.write("error: \(message)\nhint: \(hint)\n")
    }
}
