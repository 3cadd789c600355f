import Foundation
import Glibc
import KeychainModel
import ScriptedDaemon
import Testing
import TouchstoneTesting

/// Every message of `touchstone doctor` about a daemon's report, and its line format.
@Suite("touchstone doctor")
struct DoctorTests {
    /// A daemon's report, and the lines expected for it.
    struct Case: Sendable, CustomTestStringConvertible {
        let lines: [String]
        let status: StatusReply
        let report: StoreReport
        let exit: Int32

        var testDescription: String { lines.first ?? "" }

        init(
            _ lines: String...,
            exit: Int32 = 0,
            report: StoreReport = StoreReport(
                items: 3,
                invalidated: 0,
                damaged: 0,
                isSetAuthentic: true,
                faults: []
            ),
            change: (inout StatusReply) -> Void = { _ in }
        ) {
            var status = StatusReply(
                keybag: .unlocked,
                assurance: .softwareUser,
                assuranceReasons: ["There is no TPM here."],
                authentication: AuthenticationStatus(
                    sensor: "Goodix MOC",
                    fingers: ["left-thumb", "right-index-finger"],
                    binding: .templates
                ),
                promptFault: nil,
                daemonVersion: "1.2",
                daemonProcess: 4711
            )
            status.authentication.sensorFacts = SensorFacts(grade: .strong, gradedBy: .driver)
            change(&status)
            (self.lines, self.status, self.report, self.exit) = (lines, status, report, exit)
        }
    }

    private static func report(_ damaged: Int, _ invalidated: Int, isSetAuthentic: Bool = true) -> StoreReport
    {
        StoreReport(
            items: 3,
            invalidated: invalidated,
            damaged: damaged,
            isSetAuthentic: isSetAuthentic,
            faults: []
        )
    }

    /// A missing TPM or sensor is no fault.
    private static let facts: [Case] = [
        Case("ok    daemon: version 1.2, process 4711"),
        Case("ok    device key: softwareUser: There is no TPM here."),
        Case("ok    prompt program: found"),
        Case("ok    sensor: Goodix MOC, strong, by what is known of its driver"),
        Case("ok    sensor: Goodix MOC, strong, by /etc/touchstone/sensors.conf") {
            $0.authentication.sensorFacts.gradedBy = .administrator
        },
        Case("ok    sensor: Goodix MOC, weak, by touchstoned.conf") {
            $0.authentication.sensorFacts = SensorFacts(grade: .weak, gradedBy: .settings)
        },
        Case("ok    sensor: Goodix MOC, ungraded, accepted by touchstoned.conf") {
            $0.authentication.sensorFacts = SensorFacts(gradedBy: .settings)
        },
        Case(
            "warn  sensor: Goodix MOC, ungraded, which counts as weak",
            "-> accept it with a line 'sensor Goodix MOC = accepted' in touchstoned.conf"
        ) {
            $0.authentication.sensorFacts = SensorFacts()
        },
        Case("ok    sensor: none, it was unplugged; the passcode is asked for") {
            $0.authentication = AuthenticationStatus(sensorFault: FingerprintError(.disconnected).cause)
        },
        Case("ok    fingers: left-thumb, right-index-finger"),
        Case("ok    lockouts: none"),
        Case("ok    store: 3 items, all authentic"),
        Case("ok    keychain: unlocked"),
        Case("ok    keychain: locked; the passcode opens it") { $0.keybag = .lockedAfterFirstUnlock },
        Case(
            "ok    keychain: locked; the passcode opens it",
            "ok    store: read once the keychain was unlocked: touchstone unlock"
        ) { $0.keybag = .locked },
        Case("ok    device key: tpm") { ($0.assurance, $0.assuranceReasons) = (.tpm, []) },
        Case("ok    device key: softwareSystem: There is no TPM here.") { $0.assurance = .softwareSystem },
        Case("ok    sensor: none; the passcode is asked for") { $0.authentication = AuthenticationStatus() },
        Case("ok    sensor: none; the passcode is asked for") {
            $0.authentication = AuthenticationStatus(
                sensorFault: DriverCause(domain: "fprintd", code: "net.reactivated.Fprint.Error.NoSuchDevice")
            )
        },
        Case("ok    sensor: none; the passcode is asked for") {
            $0.authentication = AuthenticationStatus(
                sensorFault: DriverCause(
                    domain: "fprintd",
                    code: "org.freedesktop.DBus.Error.ServiceUnknown"
                )
            )
        },
    ]

    private static let warnings: [Case] = [
        Case("warn  keychain: not set up", "-> touchstone setup") { $0.keybag = .notSetUp },
        Case("warn  device key: tpmWeak", "-> touchstone setup --set-lockout-auth") {
            ($0.assurance, $0.assuranceReasons) = (.tpmWeak, [])
        },
        Case("warn  device key: softwareUser: ", "-> touchstone migrate") {
            $0.assuranceReasons = [
                "This machine has a TPM that the keybag does not use yet: `touchstone migrate` moves it there."
            ]
        },
        Case(
            "warn  device key: test",
            "-> a test part is configured: keep no real secrets here"
        ) { ($0.assurance, $0.assuranceReasons) = (.test, []) },
        Case(
            "warn  prompt program: no prompt can be shown here: notInteractive: no terminal",
            "-> run it from a terminal or a desktop session"
        ) { $0.promptFault = "notInteractive: no terminal" },
        Case(
            "warn  prompt program: no prompt can be shown here: notInteractive: DBUS_SESSION_BUS_ADDRESS is not set",
            "-> log in to a desktop session, run it from a terminal, or install a pinentry that needs no session bus"
        ) { $0.promptFault = "notInteractive: DBUS_SESSION_BUS_ADDRESS is not set" },
        Case("warn  sensor: Goodix MOC (fprintd: AlreadyInUse)", "-> the passcode works without it") {
            $0.authentication.sensorFault = DriverCause(domain: "fprintd", code: "AlreadyInUse")
        },
        Case("warn  fingers: none enrolled", "-> fprintd-enroll") { $0.authentication.fingers = [] },
        Case(
            "warn  fingers: left-thumb, right-index-finger; compared by name, because the templates cannot be read",
            "-> re-enrolling the same finger while the daemon is not running goes undetected: protect your session"
        ) { $0.authentication.binding = .names },
        Case("warn  lockouts: the next passcode may be tried in 60 s", "-> wait") {
            $0.authentication.passcodeDelay = 60
        },
        Case(
            "warn  lockouts: fingers are not accepted until the passcode is entered",
            "-> touchstone unlock"
        ) { $0.authentication.isBiometryLockedOut = true },
        Case(
            "warn  attempts: the file that counts failed attempts was replaced by an older one; the newer counts hold",
            "-> find out which program writes to the data directory"
        ) { $0.authentication.isTamperedWith = true },
        Case(
            "warn  store: 3 items, 2 gone with a changed set of fingers",
            "-> store them again: touchstone set NAME --replace",
            report: report(0, 2)
        ),
    ]

    private static let failures: [Case] = [
        Case(
            "fail  keychain: its key files are damaged",
            "-> open it with the recovery code: touchstone recover",
            exit: 1
        ) { $0.keybag = .damaged },
        Case("fail  lockouts: closed by ten wrong passcodes", "-> touchstone recover", exit: 1) {
            $0.authentication.isClosed = true
        },
        Case("fail  prompt program: prompterMissing: /x", "-> install pinentry: ", exit: 1) {
            $0.promptFault = "prompterMissing: /x"
        },
        Case(
            "fail  sensor: Goodix MOC (fprintd: net.reactivated.Fprint.Error.PermissionDenied)",
            "polkit refuses it here: use a local session, or have root make /etc/polkit-1/rules.d/50-touchstone.rules:",
            "polkit.addRule(function(action, subject) {",
            "\"net.reactivated.fprint.device.verify\")",
            exit: 1
        ) {
            $0.authentication.sensorFault = DriverCause(
                domain: "fprintd",
                code: "net.reactivated.Fprint.Error.PermissionDenied"
            )
        },
        Case(
            "fail  store: damaged: 1 damaged; rows were added, removed or rolled back from outside",
            "-> touchstone repair shows what is wrong, by name",
            exit: 9,
            report: report(1, 0, isSetAuthentic: false)
        ),
        Case(
            "fail  store: damaged: the log of recent changes is damaged",
            "-> touchstone repair shows what is wrong, by name",
            exit: 9
        ) {
            $0.keybag = .locked
            ($0.storeFaults, $0.itemsFault) = (["the log of recent changes is damaged"], .logDamaged)
        },
        Case(
            "fail  store: the store is an older copy: the TPM's counter is ahead of it",
            "-> put the newer data directory back while the daemon is stopped, or accept this one with the recovery"
                + " code: touchstone recover",
            exit: 9
        ) { ($0.storeFaults, $0.itemsFault) = (["the store is an older copy"], .rolledBack) },
        Case(
            "fail  disk: cannot be used: the keychain's disk can only be read (EROFS)",
            "-> make it writable",
            exit: 1
        ) {
            $0.storeFaults = ["the items cannot be read: status -61 (system EROFS)"]
            $0.itemsFault = DriverCause(domain: "system", code: "EROFS")
        },
        Case(
            "fail  disk: cannot be used: the keychain's files were replaced or moved while the daemon uses them",
            "-> put them back, or take those that are there now",
            exit: 1
        ) {
            $0.storeFaults = ["the files were replaced or moved while they are open"]
            $0.itemsFault = DriverCause(.filesReplaced)
        },
    ]

    private func daemon(_ home: TemporaryHome, _ told: Case) throws -> ScriptedDaemon {
        try ScriptedDaemon(home) { peer in
            try peer.welcome()
            while true {
                let request = try peer.next()
                switch request.head.method {
                case .status: try peer.reply(to: request, told.status)
                default: try peer.reply(to: request, CheckReply(told.report))
                }
            }
        }
    }

    @Test("each fact, fault and remedy has its own message", arguments: facts + warnings + failures)
    func sentences(told: Case) async throws {
        let home = try TemporaryHome()
        let daemon = try daemon(home, told)
        let result = try await CommandRun("doctor", home: home).run()
        for line in told.lines { #expect(result.text.contains(line), "\(result.text)") }
        // Only the part under test; the test machine may lack others.
        let part = told.lines[0].dropFirst(6).prefix { $0 != ":" }
        let verdict = told.lines[0].prefix(4)
        let said = result.text.split(separator: "\n").filter { $0.dropFirst(6).hasPrefix("\(part): ") }
        #expect(said.count == 1 && said[0].hasPrefix(verdict), "\(said)")
        if told.exit > 0 { #expect(result.status == told.exit, "\(result)") }
        // Lines are not wrapped if the output is not a terminal.
        let isRule = told.lines.contains { $0.contains("polkit.addRule") }
        #expect(isRule || !result.text.contains("\n          "), "\(result.text)")
        let json = try await CommandRun("doctor", "--json", home: home).run()
        let findings = try #require(
            JSONSerialization.jsonObject(with: Data(json.output)) as? [[String: Any]]
        )
        let finding = try #require(findings.first { $0["part"] as? String == String(part) })
        #expect(finding["verdict"] as? String == verdict.trimmingCharacters(in: .whitespaces))
        #expect(finding["remedy"] is String == (verdict != "ok  "))
        _ = daemon
    }

    @Test(
        "output is wrapped to the terminal's width without losing a word",
        arguments: [60, 80, 120]
    )
    func width(columns: Int) async throws {
        for told in Self.facts + Self.warnings + Self.failures {
            let home = try TemporaryHome()
            let daemon = try daemon(home, told)
            for command in ["doctor", "status"] {
                let terminal = try PseudoTerminal(columns: UInt16(columns), rows: 50)
                var run = CommandRun(command, home: home)
                run.terminal = terminal
                let plain = try await run.run().text
                run.drawsOnTerminal = true
                _ = try await run.run()
                let text = { (text: String) in text.filter { !$0.isWhitespace } }
                try await Deadline.wait(for: "all words of \(plain)") {
                    text(terminal.text) == text(plain) ? true : nil
                }
                for line in terminal.text.split(whereSeparator: \.isNewline) {
                    #expect(line.count <= columns, "\(command): \(line)")
                }
            }
            _ = daemon
        }
    }

    @Test(
        "the hint names the installed package manager, or the package if none is known",
        .enabled(if: geteuid() == 0 && Programs.isBuilt("/usr/bin/unshare"), "needs root")
    )
    func packageManager() async throws {
        let home = try TemporaryHome()
        let told = Case { $0.promptFault = "prompterMissing: /x" }
        let daemon = try daemon(home, told)
        for (hidden, remedy) in [
            (":", "sudo apt install pinentry-curses"),
            ("mount --bind /dev/null /usr/bin/apt-get", "the package pinentry"),
        ] where Programs.isBuilt("/usr/bin/apt-get") {
            var run = CommandRun(
                "-m",
                "/bin/sh",
                "-c",
                "\(hidden) && exec \(Programs.touchstone) doctor",
                home: home
            )
            run.program = "/usr/bin/unshare"
            let result = try await run.run()
            #expect(result.text.contains("-> install pinentry: \(remedy)\n"), "\(result)")
        }
        _ = daemon
    }

    /// What is known of the polkit rule for this user.
    enum Rule: CaseIterable, Sendable {
        case absent, unreadable, inPlace, forAnotherUser

        /// Shell code that prepares `/etc/polkit-1/rules.d` in a namespace of its own.
        var setUp: String {
            let file = "/etc/polkit-1/rules.d/50-touchstone.rules"
            let action = "action.id == \"net.reactivated.fprint.device.verify\""
            return switch self {
            case .absent: ":"
            case .unreadable:
                "echo > \(file); chown 61958 /etc/polkit-1/rules.d && chmod 700 /etc/polkit-1/rules.d"
            case .inPlace: "echo 'subject.user == \"root\" && \(action)' > \(file)"
            case .forAnotherUser: "echo 'subject.user == \"anna\" && \(action)' > \(file)"
            }
        }

        var remedy: String {
            switch self {
            case .absent: "or have root make /etc/polkit-1/rules.d/50-touchstone.rules:"
            case .unreadable:
                "50-touchstone.rules cannot be read by this user, so have root look whether it says this:"
            case .inPlace:
                "50-touchstone.rules allows it, and polkit has not taken it: as root, systemctl restart polkit"
            case .forAnotherUser: "or have root add this to /etc/polkit-1/rules.d/50-touchstone.rules:"
            }
        }
    }

    @Test(
        "where polkit refuses the sensor, the remedy depends on the rule: unreadable is not absent",
        .enabled(if: geteuid() == 0 && Programs.isBuilt("/usr/bin/unshare"), "needs root"),
        arguments: Rule.allCases
    )
    func polkitRule(rule: Rule) async throws {
        let home = try TemporaryHome()
        let refusal = DriverCause(domain: "fprintd", code: "net.reactivated.Fprint.Error.PermissionDenied")
        let daemon = try daemon(home, Case { $0.authentication.sensorFault = refusal })
        let ownEtc =
            "mount -t tmpfs tmpfs /mnt && cp -a /etc/. /mnt/ && mount --move /mnt /etc && rm -rf /etc/polkit-1"
        // Root without its capabilities is kept out as any user is.
        let doctor =
            "exec setpriv --bounding-set=-dac_override,-dac_read_search \(Programs.touchstone) doctor"
        var run = CommandRun(
            "-m",
            "/bin/sh",
            "-c",
            "{ \(ownEtc) && mkdir -p /etc/polkit-1/rules.d && \(rule.setUp); } >&2 && \(doctor)",
            home: home
        )
        run.program = "/usr/bin/unshare"
        let result = try await run.run()
        #expect(result.text.contains(rule.remedy), "\(result)")
        for other in Rule.allCases where other != rule {
            #expect(!result.text.contains(other.remedy), "\(result)")
        }
        #expect(result.text.contains("polkit.addRule") == (rule != .inPlace))
        _ = daemon
    }

    @Test(
        "a library that the daemon misses is named, with the package that has it",
        .enabled(if: geteuid() == 0 && Programs.isBuilt("/usr/bin/unshare"), "needs root"),
        arguments: [
            ("libtss2-esys.so.0", "libtss2-dev"), ("libsqlite3.so.0", "libsqlite3-0"),
            ("libsystemd.so.0", "libsystemd0"),
        ]
    )
    func library(name: String, package: String) async throws {
        let home = try TemporaryHome()
        // An overlay whose upper layer takes the file away (a "whiteout").
        let hide = """
            library=$(ldd \(Programs.touchstoned) | sed -n 's/^[[:space:]]*\(name) => \\([^ ]*\\).*/\\1/p') &&
            directory=$(dirname "$(readlink -f "$library")") && mount -t tmpfs tmpfs /mnt && mkdir /mnt/upper /mnt/work &&
            mknod /mnt/upper/\(name) c 0 0 &&
            mount -t overlay -o lowerdir="$directory",upperdir=/mnt/upper,workdir=/mnt/work overlay "$directory"
            """
        for command in ["status", "doctor"] {
            var run = CommandRun(
                "-m",
                "/bin/sh",
                "-c",
                "{ \(hide); } >&2 && exec \(Programs.touchstone) \(command)",
                home: home
            )
            run.program = "/usr/bin/unshare"
            run.environment = ["TOUCHSTONE_DAEMON": Programs.touchstoned]
            let result = try await run.run()
            let text = result.text + result.errors
            #expect(result.status == (command == "doctor" ? 1 : 7), "\(result)")
            #expect(text.contains("the daemon did not start: the library \(name) is missing\n"), "\(text)")
            let isApt = Programs.isBuilt("/usr/bin/apt-get")
            #expect(!isApt || text.contains("install it: sudo apt install \(package)\n"), "\(text)")
        }
    }

    @Test("a locked-memory limit too small for large secrets is a warning")
    func lockedMemory() async throws {
        let home = try TemporaryHome()
        let daemon = try daemon(home, Case())
        var run = CommandRun("-c", "ulimit -l 512; exec \(Programs.touchstone) doctor", home: home)
        run.program = "/bin/sh"
        let result = try await run.run()
        #expect(
            result.text.contains(
                "warn  locked memory: only 512 KiB may be locked; large secrets may not fit\n      -> raise the limit to 8192 KiB\n"
            ),
            "\(result)"
        )
        _ = daemon
    }

    @Test("doctor finds a configuration that others can change, and a path that is not a directory")
    func files() async throws {
        let home = try TemporaryHome()
        let daemon = try daemon(home, Case())
        let file = home.layout.configurationFile
        try "idle-exit = 5\n".write(toFile: file, atomically: true, encoding: .utf8)
        chmod(file, 0o666)
        let result = try await CommandRun("doctor", home: home).run()
        #expect(result.status == 1)
        #expect(
            result.text.contains(
                "fail  configuration: \(file) can be changed by others\n      -> chown it to yourself; chmod go-w \(file)\n"
            ),
            "\(result)"
        )
        chmod(file, 0o600)
        try? FileManager.default.removeItem(atPath: home.layout.dataDirectory)
        try "".write(toFile: home.layout.dataDirectory, atomically: true, encoding: .utf8)
        let other = try await CommandRun("doctor", home: home).run()
        #expect(other.text.contains("ok    configuration: \(file)\n"))
        #expect(
            other.text.contains(
                "fail  store's directory: \(home.layout.dataDirectory) is not a directory\n      -> move it away\n"
            ),
            "\(other)"
        )
        _ = daemon
    }
}
