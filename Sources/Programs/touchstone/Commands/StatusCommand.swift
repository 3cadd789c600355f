import ArgumentParser
import KeychainClient
import KeychainModel

/// `touchstone status`: show the keychain's state.
struct StatusCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "status",
        abstract:
            "Show the keychain's state: locked or not, assurance, sensor, fingers, lockouts, what locks it."
    )

    @Flag(help: "Write JSON.")
    var json = false

    func run() throws {
        let status = try RemoteKeychain.shared.status(promptsAt: .currentDisplay)
        // Nil from an older daemon, and while the broker cannot name this program, which the status says.
        let past = try? RemoteKeychain.shared.lastAuthentications()
        if json {
            Output.print(status.json(past).rendered())
        } else {
            // Nil before the first unlock, and in these cases.
            let protection = try? RemoteKeychain.shared.protection()
            for line in status.lines(past, protection) { print(line) }
        }
        if !status.storeFaults.isEmpty { throw status.isDiskFault ? ExitCode.notAvailable : .damaged }
    }

    /// The width of the titles, in columns.
    private static let titleWidth = 12

    private func print(_ line: StatusLine) {
        let title = line.title.isEmpty ? "" : line.title + ":"
        let padding = String(repeating: " ", count: max(1, Self.titleWidth - title.count))
        for text in Columns.lines(title + padding, Printable.text(line.text)) {
            guard let tint = line.tint else {
                Output.print(text)
                continue
            }
            Output.print(
                text.prefix(Self.titleWidth) + tint.applied(to: String(text.dropFirst(Self.titleWidth)))
            )
        }
    }
}

/// A line of the state for users.
private struct StatusLine {
    /// Empty for a line that belongs to the one before.
    var title = ""
    let text: String
    /// How good or bad it is; nil for what is neither.
    var tint: Tint?
}

extension KeybagState {
    /// The name for programs.
    fileprivate var name: String { String(describing: self) }
}

extension StatusReply {
    fileprivate func lines(_ past: [PastAuthentication]?, _ protection: ProtectionReply?) -> [StatusLine] {
        var lines = [StatusLine(title: "Keychain", text: standing.message, tint: standingTint)]
        if let hint = Hint.elsewhere(standing.hint) { lines.append(StatusLine(text: hint)) }
        lines.append(StatusLine(title: "Assurance", text: assurance.name))
        lines += assuranceReasons.map { StatusLine(text: $0) }
        if let itemsTrouble {
            lines.append(StatusLine(title: "Items", text: itemsTrouble.message, tint: .bad))
            lines.append(StatusLine(text: itemsTrouble.hint))
        }
        let isSensorGone = authentication.sensorFault != nil || authentication.isSensorUnplugged
        lines.append(
            StatusLine(
                title: "Sensor",
                text: authentication.sensorSentence,
                tint: isSensorGone ? .caution : nil
            )
        )
        lines.append(StatusLine(title: "Fingers", text: authentication.fingersSentence))
        if let brokerTrouble {
            lines.append(StatusLine(title: "Broker", text: brokerTrouble, tint: .bad))
            lines.append(StatusLine(text: CauseText.brokerHint))
        }
        let lockouts = keybag == .notSetUp ? "none" : authentication.lockoutSentence
        let lockoutTint: Tint = authentication.isClosed ? .bad : .caution
        lines.append(
            StatusLine(title: "Lockouts", text: lockouts, tint: lockouts == "none" ? nil : lockoutTint)
        )
        if authentication.isTamperedWith {
            lines.append(StatusLine(text: AuthenticationStatus.tamperedSentence, tint: .bad))
        }
        lines += PastAuthentication.sentences(past).enumerated().map { index, sentence in
            StatusLine(title: index == 0 ? "Last proof" : "", text: sentence)
        }
        lines.append(StatusLine(title: "Locks", text: locking.sentence))
        if let countdown = locking.countdown { lines.append(StatusLine(text: countdown)) }
        if let trouble = locking.trouble {
            lines.append(StatusLine(text: trouble, tint: .caution))
            lines.append(StatusLine(text: LockingStatus.remedy))
        }
        if let protection, protection.mode != .off {
            lines.append(StatusLine(title: "Theft", text: protection.sentence))
            lines += protection.waits.map { StatusLine(text: $0, tint: .caution) }
        }
        lines += promptLines
        lines.append(
            StatusLine(title: "Daemon", text: "version \(daemonVersion), process \(daemonProcess)")
        )
        return lines
    }

    /// Whether a prompt can be shown: what the daemon knows of its program, then what this command knows of its place.
    private var promptLines: [StatusLine] {
        if let promptFault {
            return [StatusLine(title: "Prompt", text: "cannot be shown: \(promptFault)", tint: .caution)]
        }
        guard let fault = PlaceFault.current() else {
            return [StatusLine(title: "Prompt", text: "can be shown")]
        }
        return [
            StatusLine(title: "Prompt", text: "cannot be shown here: \(fault.text)", tint: .caution),
            StatusLine(text: fault.remedyOrUnlock),
        ]
    }

    private var standingTint: Tint {
        switch (keybag, obstacle == nil) {
        case (.damaged, _), (_, false): .bad
        case (.unlocked, true): .good
        case (.notSetUp, true), (.locked, true), (.lockedAfterFirstUnlock, true): .caution
        }
    }

    fileprivate func json(_ past: [PastAuthentication]?) -> JSONText {
        .object([
            ("keychain", .text(keybag.name)),
            ("assurance", .text(assurance.name)),
            ("assuranceReasons", .list(assuranceReasons.map(JSONText.text))),
            ("sensor", .optional(authentication.sensor)),
            ("sensorGrade", .optional(authentication.gradedSensor.map { "\($0.grade)" })),
            ("sensorGradedBy", .optional(authentication.gradedSensor.map { "\($0.gradedBy)" })),
            ("sensorSecureChannel", .optional(authentication.gradedSensor?.hasSecureChannel)),
            ("sensorLiveness", .optional(authentication.gradedSensor?.detectsLiveness)),
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
            ("lastAuthentications", .list((past ?? []).map(\.json))),
            ("promptFault", .optional(promptFault ?? PlaceFault.current()?.code)),
            ("storeFaults", .list(storeFaults.map(JSONText.text))),
            ("itemsFault", .optional(itemsFault.map { "\($0.domain): \($0.code)" })),
            ("brokerFault", .optional(brokerFault.map { "\($0.domain): \($0.code)" })),
            ("locksWithScreen", .flag(locking.triggers.screen)),
            ("locksBeforeSleep", .flag(locking.triggers.sleep)),
            ("locksWithLid", .flag(locking.triggers.lid)),
            ("locksAfterIdleSeconds", .optional(locking.triggers.idle?.components.seconds)),
            ("locksInSeconds", .optional(locking.secondsLeft)),
            ("sessionsFault", .optional(locking.sessionsFault)),
            ("screenSaver", .optional(locking.screenSaver)),
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
        guard !fingers.isEmpty else { return sensorFault == nil ? "none enrolled" : "not known now" }
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
