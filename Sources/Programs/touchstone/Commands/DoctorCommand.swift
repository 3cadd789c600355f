import ArgumentParser
import KeychainClient
import KeychainModel

extension PromptOrigin {
    /// Where a prompt would be shown without a terminal; nil with a terminal, and without a display.
    ///
    /// Only the pinentry program knows whether it can use a display.
    static var currentDisplay: PromptOrigin? {
        let origin = current()
        guard origin.terminal == nil, origin.display ?? origin.waylandDisplay != nil else { return nil }
        return origin
    }
}

/// `touchstone doctor`: check every part and say what to do.
struct DoctorCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "doctor",
        abstract: "Check every part, one by one, and say what to do.",
        discussion:
            """
            Changes nothing and never prompts. The exit status is 0 when nothing failed, 9 when the stored secrets are \
            damaged, otherwise 1.
            """
    )

    @Flag(help: "Write JSON.")
    var json = false

    func run() throws {
        let findings = Self.findings()
        if json {
            Output.print(JSONText.list(findings.map(\.json)).rendered())
        } else {
            for finding in findings { for line in finding.lines { Output.print(line) } }
        }
        let failed = findings.filter { $0.verdict == .fail }
        if failed.contains(where: { $0.part == "store" }) { throw ExitCode.damaged }
        if !failed.isEmpty { throw ExitCode.failed }
    }

    private static func findings() -> [Finding] {
        var findings = [SystemChecks.lockedMemory()]
        let system = RemoteKeychain.systemLayout()
        if let system {
            findings += systemPlaces(system)
        } else if let layout = Layout(variable: Environment.secureValue) {
            findings += ownPlaces(layout)
        } else {
            return findings + [.fail("places", "HOME is not set to an absolute path", "set HOME")]
        }
        findings.append(SystemChecks.promptPlace(.current()))
        findings.append(SystemChecks.systemBus())
        findings.append(SystemChecks.fprintd())
        // In system mode the daemon's account uses the TPM, which the parts of system mode check.
        if system == nil, let tpm = SystemChecks.tpm() { findings.append(tpm) }
        if let secrets = ServiceSecretsCheck.finding() { findings.append(secrets) }
        findings += SystemModeChecks.findingsForDoctor()
        return findings
    }

    /// The places of system mode, and the daemon; the parts of system mode have the owners and modes of its directories.
    private static func systemPlaces(_ layout: Layout) -> [Finding] {
        [
            .ok("runtime directory", "\(layout.runtimeDirectory), in system mode"),
            SystemChecks.configuration(layout.configurationFile, isSystem: true),
        ] + daemonFindings()
    }

    /// The places of this user's own keychain, and the daemon.
    private static func ownPlaces(_ layout: Layout) -> [Finding] {
        var findings = [SystemChecks.runtimePlace(layout, variable: Environment.secureValue)]
        findings.append(SystemChecks.configuration(layout.configurationFile))
        if let fault = RemoteKeychain.configurationFault() {
            findings.append(
                .fail("settings", fault, "correct that line; touchstoned --check-configuration says it again")
            )
        }
        // The daemon comes first: it makes the directories.
        let daemon = daemonFindings()
        findings.append(SystemChecks.directory("socket's directory", layout.runtimeDirectory))
        findings.append(SystemChecks.directory("store's directory", layout.dataDirectory))
        return findings + daemon
    }

    /// The secrets that only a finger releases, as far as their names can be listed without a prompt.
    private static func namesForFingers() -> [String] {
        let secrets = (try? StoredSecrets().all(interactionAllowed: false)) ?? []
        return secrets.filter { $0.invalidated == nil && $0.accessControl.requirementName == "finger" }.map(
            \.name
        )
    }

    private static func daemonFindings() -> [Finding] {
        let keychain = RemoteKeychain.shared
        do throws(KeychainError) {
            let status = try keychain.status(promptsAt: .currentDisplay)
            let waiting = status.lacksSensor ? namesForFingers() : []
            var findings = KeychainChecks.findings(of: status, namesForFingers: waiting)
            switch status.keybag {
            case .notSetUp, .damaged: break
            case .locked:
                let unread = Finding.ok("store", "read once the keychain was unlocked: touchstone unlock")
                findings.append(KeychainChecks.knownFault(ofStoreIn: status) ?? unread)
            // The items may be intact: a check would find nothing.
            case .lockedAfterFirstUnlock where status.itemsFault == .rolledBack || status.isDiskFault,
                .unlocked where status.itemsFault == .rolledBack || status.isDiskFault:
                if let fault = KeychainChecks.knownFault(ofStoreIn: status) { findings.append(fault) }
            case .lockedAfterFirstUnlock, .unlocked:
                let progress = Progress("Checking the store")
                defer { progress.clear() }
                findings.append(KeychainChecks.store(try keychain.check(progress: progress.show)))
            }
            return findings
        } catch {
            let text = ErrorText.describe(error)
            let remedy = Hint.elsewhere(text.hint, from: "doctor")
            return [.fail("daemon", text.message, remedy ?? "touchstoned --foreground shows what it logs")]
        }
    }
}
