import ArgumentParser
import KeychainClient
import KeychainModel

/// `touchstone status`: show the keychain's state.
struct StatusCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "status",
        abstract: "Show the keychain's state: locked or not, assurance, sensor, fingers, lockouts."
    )

    @Flag(help: "Write JSON.")
    var json = false

    func run() throws {
        let status = try RemoteKeychain.shared.status(promptsAt: .currentDisplay)
        if json {
            Output.print(status.json.rendered())
        } else {
            for (title, text) in status.lines {
                let title = pad(title.isEmpty ? "" : title + ":")
                for line in Columns.lines(title, Printable.text(text)) { Output.print(line) }
            }
        }
        if !status.storeFaults.isEmpty { throw status.isDiskFault ? ExitCode.notAvailable : .damaged }
    }

    private func pad(_ title: String) -> String {
        title + String(repeating: " ", count: max(1, 12 - title.count))
    }
}

extension KeybagState {
    /// The name for programs.
    fileprivate var name: String { String(describing: self) }
}

extension StatusReply {
    fileprivate var lines: [(String, String)] {
        var lines = [("Keychain", standing.message)]
        if let hint = Hint.elsewhere(standing.hint) { lines.append(("", hint)) }
        lines.append(("Assurance", assurance.name))
        lines += assuranceReasons.map { ("", $0) }
        if let itemsTrouble { lines += [("Items", itemsTrouble.message), ("", itemsTrouble.hint)] }
        lines.append(("Sensor", authentication.sensorSentence))
        lines.append(("Fingers", authentication.fingersSentence))
        if let brokerTrouble { lines += [("Broker", brokerTrouble), ("", CauseText.brokerHint)] }
        lines.append(("Lockouts", keybag == .notSetUp ? "none" : authentication.lockoutSentence))
        if authentication.isTamperedWith { lines.append(("", AuthenticationStatus.tamperedSentence)) }
        lines.append(("Prompt", promptFault.map { "cannot be shown: \($0)" } ?? "can be shown"))
        lines.append(("Daemon", "version \(daemonVersion), process \(daemonProcess)"))
        return lines
    }

    fileprivate var json: JSONText {
        .object([
            ("keychain", .text(keybag.name)),
            ("assurance", .text(assurance.name)),
            ("assuranceReasons", .list(assuranceReasons.map(JSONText.text))),
            ("sensor", .optional(authentication.sensor)),
            ("sensorGrade", .optional(authentication.gradedSensor.map { "\($0.grade)" })),
            ("sensorGradedBy", .optional(authentication.gradedSensor.map { "\($0.gradedBy)" })),
            ("sensorFault", .optional(authentication.sensorFault.map { "\($0.domain): \($0.code)" })),
            ("fingers", .list(authentication.fingers.map(JSONText.text))),
            ("enrolmentBinding", .optional(authentication.binding.map { String(describing: $0) })),
            ("biometryFailures", .number(Int64(authentication.biometryFailures))),
            ("biometryLockedOut", .flag(authentication.isBiometryLockedOut)),
            ("passcodeFailures", .number(Int64(authentication.passcodeFailures))),
            ("passcodeDelaySeconds", .number(authentication.passcodeDelay)),
            ("closed", .flag(authentication.isClosed)),
            ("hardwareFault", .optional(authentication.hardwareFault.map { "\($0.domain): \($0.code)" })),
            ("storeFault", .optional(authentication.storeFault.map { "\($0.domain): \($0.code)" })),
            ("attemptsTamperedWith", .flag(authentication.isTamperedWith)),
            ("promptFault", .optional(promptFault)),
            ("storeFaults", .list(storeFaults.map(JSONText.text))),
            ("itemsFault", .optional(itemsFault.map { "\($0.domain): \($0.code)" })),
            ("brokerFault", .optional(brokerFault.map { "\($0.domain): \($0.code)" })),
            ("daemonVersion", .text(daemonVersion)),
            ("daemonProcess", .number(daemonProcess)),
        ])
    }
}

extension AuthenticationStatus {
    /// The facts about a sensor that can be used.
    fileprivate var gradedSensor: SensorFacts? { sensor == nil || sensorFault != nil ? nil : sensorFacts }

    fileprivate var sensorSentence: String {
        let fault = sensorFault.map { "cannot be used (\($0.domain): \($0.code))" }
        guard let sensor else { return isSensorUnplugged ? "unplugged" : fault ?? "none" }
        return "\(sensor), \(fault ?? sensorFacts.sentence)"
    }

    fileprivate var fingersSentence: String {
        guard !fingers.isEmpty else { return "none enrolled" }
        let names = fingers.joined(separator: ", ")
        switch binding {
        case .names?: return names + " (compared by name: re-enrolling the same finger may go undetected)"
        case .templates?: return names + " (compared by template)"
        case .untold?: return names + " (cannot be compared now: the broker does not answer)"
        case nil: return names
        }
    }

    /// Which authentication is locked out, and for how long.
    var lockoutSentence: String {
        if isClosed { return "closed by ten wrong passcodes; touchstone recover opens it" }
        var parts: [String] = []
        if passcodeDelay > 0 {
            parts.append("the next passcode may be tried in \(DateText.duration(seconds: passcodeDelay))")
        }
        if isBiometryLockedOut { parts.append("fingers are not accepted until the passcode is entered") }
        if passcodeFailures > 0 {
            parts.append("wrong passcodes since the last correct one: \(passcodeFailures)")
        }
        if biometryFailures > 0 {
            parts.append("fingers refused since the last success: \(biometryFailures)")
        }
        return parts.isEmpty ? "none" : parts.joined(separator: "; ")
    }
}
