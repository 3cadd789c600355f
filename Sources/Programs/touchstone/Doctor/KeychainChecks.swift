import KeychainModel

/// Judges the status that the daemon reports.
enum KeychainChecks {
    /// All findings of a status.
    ///
    /// - Parameters:
    ///   - status: what the daemon reports.
    ///   - names: the secrets that only a finger releases, if there is no sensor.
    /// - Returns: the findings.
    static func findings(of status: StatusReply, namesForFingers names: [String]) -> [Finding] {
        let sensor = waiting(names) ?? sensor(status.authentication)
        return [
            .ok("daemon", "version \(status.daemonVersion), process \(status.daemonProcess)")
        ] + tracer(status) + [
            keychain(status), assurance(status), prompter(status), sensor,
        ] + enrolment(status.authentication) + broker(status) + lockouts(status) + [
            locking(status.locking)
        ]
    }

    /// A tracer of the daemon, at its start or now: hardening keeps out only those that come later.
    private static func tracer(_ status: StatusReply) -> [Finding] {
        let remedy =
            "find out who started it so, end process \(status.daemonProcess), and change what it has shown since"
        if let reason = status.tracedReason { return [.fail("tracer", reason, remedy)] }
        do throws(UnreadableFile) {
            let tracer = try SmallFile.value("TracerPid", of: "/proc/\(status.daemonProcess)/status") ?? "0"
            guard tracer != "0" else { return [] }
            return [.fail("tracer", "process \(tracer) traces the daemon and can know every secret", remedy)]
        } catch {
            // Another user's processes may be hidden from this one.
            return error.isMissing
                ? [] : [.warn("tracer", "unknown: \(error)", "run touchstone doctor as root")]
        }
    }

    /// A known fault of the items, without checking them; nil if none is known.
    static func knownFault(ofStoreIn status: StatusReply) -> Finding? {
        // A disk's fault is no damage, which has an exit status of its own.
        status.itemsTrouble.map { .fail(status.isDiskFault ? "disk" : "store", $0.message, $0.hint) }
    }

    /// The finding of a check of the store.
    static func store(_ report: StoreReport) -> Finding {
        var faults = report.faults
        if report.damaged > 0 { faults.append("\(report.damaged) damaged") }
        if !report.isSetAuthentic { faults.append("rows were added, removed or rolled back from outside") }
        guard faults.isEmpty else {
            return .fail(
                "store",
                "damaged: " + faults.joined(separator: "; "),
                "touchstone repair shows what is wrong, by name"
            )
        }
        guard report.invalidated == 0 else {
            return .warn(
                "store",
                "\(report.items) items, \(report.invalidated) gone with a changed set of fingers",
                "store them again: touchstone set NAME --replace"
            )
        }
        return .ok("store", report.items == 1 ? "1 item, authentic" : "\(report.items) items, all authentic")
    }

    private static func keychain(_ status: StatusReply) -> Finding {
        if let obstacle = status.obstacle {
            let remedy = Hint.elsewhere(obstacle.hint, from: "doctor") ?? "the daemon's log says more"
            return .fail("keychain", status.standing.message, remedy)
        }
        return switch status.keybag {
        case .notSetUp: .warn("keychain", "not set up", "touchstone setup")
        case .locked, .lockedAfterFirstUnlock: .ok("keychain", "locked; the passcode opens it")
        case .unlocked: .ok("keychain", "unlocked")
        case .damaged:
            .fail(
                "keychain",
                "its key files are damaged",
                "open it with the recovery code: touchstone recover"
            )
        }
    }

    private static func assurance(_ status: StatusReply) -> Finding {
        let reasons =
            status.assuranceReasons.isEmpty ? "" : ": " + status.assuranceReasons.joined(separator: " ")
        let text = status.assurance.name + reasons
        if text.contains("this is tried again") {
            let remedy =
                "leave the daemon running until the TPM answers; touchstone status tells when it is done"
            return .warn("device key", text, remedy)
        }
        switch status.assurance {
        case .tpm: return .ok("device key", text)
        case .tpmWeak: return .warn("device key", text, "touchstone setup --set-lockout-auth")
        case .softwareUser, .softwareSystem:
            guard text.contains("touchstone migrate") else { return .ok("device key", text) }
            return .warn("device key", text, "touchstone migrate")
        case .test: return .warn("device key", text, "a test part is configured: keep no real secrets here")
        }
    }

    private static func prompter(_ status: StatusReply) -> Finding {
        guard let fault = status.promptFault else { return .ok("prompt program", "found") }
        if fault.hasPrefix("noAgent") {
            return .warn(
                "prompt program",
                "no agent draws on the desktop; touchstone draws its own prompts on terminals",
                "systemctl --user start touchstone-agent"
            )
        }
        if fault.hasPrefix("notInteractive") || fault.hasPrefix("inBackground") {
            let isBus = fault.contains("DBUS_SESSION_BUS_ADDRESS")
            return .warn(
                "prompt program",
                "no prompt can be shown here: \(fault)",
                isBus
                    ? "log in to a desktop session, run it from a terminal, or install a pinentry that needs no session bus"
                    : "run it from a terminal or a desktop session"
            )
        }
        return .fail("prompt program", fault, "install pinentry: \(PackageManager.command(for: .pinentry))")
    }

    /// The finding that secrets wait for a sensor that is not there; nil if none do.
    private static func waiting(_ names: [String]) -> Finding? {
        guard !names.isEmpty else { return nil }
        let shown = names.prefix(3).map { "'\($0)'" }.joined(separator: ", ")
        let others = names.count > 3 ? " and \(names.count - 3) more" : ""
        let subject = names.count == 1 ? "a secret opens" : "\(names.count) secrets open"
        return .warn(
            "sensor",
            "none, and \(subject) only with a finger: \(shown)\(others)",
            "connect the sensor, and see that fprintd runs; the passcode does not open them"
        )
    }

    private static func sensor(_ status: AuthenticationStatus) -> Finding {
        if let fault = status.sensorFault {
            let text = "\(status.sensor ?? "none") (\(fault.domain): \(fault.code))"
            if fault.code.hasSuffix("PermissionDenied") {
                return PolkitRule.finding(text)
            }
            if status.isSensorUnplugged {
                return .ok("sensor", "none, it was unplugged; the passcode is asked for")
            }
            // A missing sensor is a fact; a broken one is a fault.
            if status.lacksSensor { return .ok("sensor", "none; the passcode is asked for") }
            return .warn("sensor", text, "the passcode works without it")
        }
        guard let sensor = status.sensor else {
            return .ok("sensor", "none; the passcode is asked for")
        }
        let text = "\(sensor), \(status.sensorFacts.sentence)"
        guard status.sensorFacts.grade != .unsafe else {
            return .warn("sensor", text, "update its firmware; the passcode works without it")
        }
        guard status.sensorFacts.grade == .ungraded, status.isSensorWeak else { return .ok("sensor", text) }
        return .warn(
            "sensor",
            text,
            "accept it with a line 'sensor \(sensor) = accepted' in touchstoned.conf, or grade it in /etc/touchstone/sensors.conf"
        )
    }

    private static func enrolment(_ status: AuthenticationStatus) -> [Finding] {
        // What could not be read is not said to be absent.
        guard status.sensor != nil, status.sensorFault == nil else { return [] }
        guard !status.fingers.isEmpty else { return [.warn("fingers", "none enrolled", "fprintd-enroll")] }
        let names = status.fingers.joined(separator: ", ")
        guard status.binding == .names else { return [.ok("fingers", names)] }
        return [
            .warn(
                "fingers",
                names + "; compared by name, because the templates cannot be read",
                "re-enrolling the same finger while the daemon is not running goes undetected: protect your session"
            )
        ]
    }

    private static func broker(_ status: StatusReply) -> [Finding] {
        status.brokerTrouble.map { [.fail("broker", $0, CauseText.brokerHint)] } ?? []
    }

    /// Without a keychain there are no lockouts.
    private static func lockouts(_ status: StatusReply) -> [Finding] {
        guard status.keybag != .notSetUp else { return [] }
        let tampering = Finding.warn(
            "attempts",
            AuthenticationStatus.tamperedSentence,
            "find out which program writes to the data directory"
        )
        return [lockouts(status.authentication)] + (status.authentication.isTamperedWith ? [tampering] : [])
    }

    private static func locking(_ status: LockingStatus) -> Finding {
        guard let trouble = status.trouble else { return .ok("locking", status.sentence) }
        return .warn("locking", trouble, LockingStatus.remedy)
    }

    private static func lockouts(_ status: AuthenticationStatus) -> Finding {
        if status.isClosed { return .fail("lockouts", status.lockoutSentence, "touchstone recover") }
        if status.passcodeDelay > 0 { return .warn("lockouts", status.lockoutSentence, "wait") }
        if status.isBiometryLockedOut {
            return .warn("lockouts", status.lockoutSentence, "touchstone unlock")
        }
        return .ok("lockouts", status.lockoutSentence)
    }
}

extension StatusReply {
    /// Whether there is no sensor, or it was unplugged; one that is broken or refused is there.
    var lacksSensor: Bool { authentication.lacksSensor }
}

extension AuthenticationStatus {
    fileprivate var lacksSensor: Bool {
        guard let fault = sensorFault else { return sensor == nil }
        if isSensorUnplugged { return true }
        return sensor == nil
            && (fault.code.hasSuffix("ServiceUnknown") || fault.code.hasSuffix("NoSuchDevice"))
    }
}
