import KeychainModel
import SecretMemory
import WebAuthnModel

/// Every reply without failure: each method's last one, and those with `more` before it.
enum GoldenReplies {
    private typealias Value = GoldenValues

    static func all() throws -> [GoldenMessage] {
        [greeting()] + (try Method.allCases.flatMap { try of($0) })
    }

    /// The replies of a method; a new method does not compile before it has some.
    static func of(_ method: Method) throws -> [GoldenMessage] {
        switch method {
        case .hello, .setUp, .unlock, .lock, .changePasscode, .recover, .migrate, .protectLockout, .startOver,
            .changeRecoveryCode, .checkRecoveryCode, .sendImport, .invalidateContext, .setCredential, .cancel,
            .agentShown, .agentAnswer, .agentGone,
            .agentCheck, .switchFingers, .changeProtection:
            [.reply(method, comparing: "done", EmptyBody())]
        case .status: try statuses()
        case .check:
            [
                progress(method),
                .reply(
                    method,
                    comparing: "report",
                    CheckReply(
                        StoreReport(items: 4, invalidated: 3, damaged: 2, isSetAuthentic: true, faults: ["a"])
                    )
                ),
                .reply(
                    method,
                    comparing: "not authentic",
                    CheckReply(
                        StoreReport(items: 0, invalidated: 0, damaged: 0, isSetAuthentic: false, faults: [])
                    )
                ),
            ]
        case .watch: changes()
        case .exportKeychain, .backUp: exports(method)
        case .importKeychain: [progress(method), .reply(method, comparing: "items", CountBody(70_000))]
        case .openExport: exportedItems()
        case .repair: repairs()
        case .addItem, .copyItems: try GoldenItemPages.of(method)
        case .updateItems: [.reply(method, comparing: "number", CountBody(3))]
        case .deleteItems:
            [
                .reply(method, comparing: "counted", DeletedItems(count: 3, isCounted: true)),
                .reply(method, comparing: "not counted", DeletedItems(count: 3, isCounted: false)),
            ]
        case .replaceItem: Replacement.allCases.map { .reply(method, comparing: "\($0)", $0) }
        case .eraseItems:
            [.reply(method, comparing: "numbers", Erasure(deleted: 1, different: 2, unknown: 3))]
        case .listApps, .moveItems: try apps(method)
        case .lastAuthentications: try pastAuthentications()
        case .represent:
            [
                .reply(
                    method,
                    comparing: "program",
                    RepresentedReply(ProgramFile(path: "/usr/bin/secret-tool", inode: 1_234_567))
                ),
                .reply(method, comparing: "unknown program", RepresentedReply(nil)),
            ]
        case .readProtection: try GoldenProtection.replies()
        case .makeKey, .readKey:
            [
                .reply(method, comparing: "hardware", KeyReply(try key(isHardware: true))),
                .reply(method, comparing: "software", KeyReply(try key(isHardware: false))),
                .reply(method, comparing: "uses left", KeyReply(try key(isHardware: true, usesLeft: 70_000))),
                .reply(method, comparing: "counted", KeyReply(try key(isHardware: true, isCounted: true))),
            ]
        case .useKey, .activateCredential:
            [.reply(method, "bytes", KeyResult(SecretBytes(copying: Value.bytes(0x70, 64))))]
        case .attestKey: attestations()
        case .quoteBoot:
            [
                .reply(
                    method,
                    comparing: "quote",
                    BootQuote(statement: [7, 8, 9], signature: Value.bytes(0x30, 64))
                )
            ]
        case .attestationIdentity: [.reply(method, comparing: "identity", identity)]
        case .evaluatePolicy, .evaluateAccessControl:
            [
                .reply(
                    method,
                    comparing: "both factors",
                    EvaluationReply(
                        factors: Set(AuthenticationFactor.allCases),
                        domainState: Value.bytes(2, 32)
                    )
                ),
                .reply(method, comparing: "nothing", EvaluationReply(factors: [], domainState: nil)),
            ]
        case .canEvaluatePolicy: availabilities()
        case .agentRegister:
            [
                .reply(
                    method,
                    comparing: "program",
                    AgentAdmission(pinentryProgram: "/usr/bin/pinentry", isForTests: true)
                ),
                .reply(
                    method,
                    comparing: "no program",
                    AgentAdmission(pinentryProgram: nil, isForTests: false)
                ),
            ]
        case .agentNext: boxes()
        case .agentJudge:
            [
                .reply(method, comparing: "accepted", DraftVerdict(.init(percent: 80, refusal: nil))),
                .reply(method, comparing: "refused", DraftVerdict(.init(percent: 0, refusal: "Too short."))),
            ]
        }
    }

    /// The daemon's first message, a reply with number 0.
    private static func greeting() -> GoldenMessage {
        let greeting = Greeting(nonce: Value.bytes(1, 16), daemonVersion: "1.2.3")
        return GoldenMessage(
            name: "greeting",
            octets: ReplyHead(id: 0).message(greeting).copied,
            recoded: { octets in
                try GoldenMessage.read(octets) { reader in
                    try ReplyHead(from: &reader).message(Greeting(from: &reader)).copied
                }
            },
            isEqual: { octets in
                try GoldenMessage.read(octets) { reader in
                    try ReplyHead(from: &reader) == ReplyHead(id: 0) && Greeting(from: &reader) == greeting
                }
            }
        )
    }

    private static func progress(_ method: Method) -> GoldenMessage {
        .reply(method, comparing: "progress", more: true, ProgressBody(done: 1, total: 500))
    }

    private static func statuses() throws -> [GoldenMessage] {
        var full = AuthenticationStatus(
            sensor: "Synaptics",
            sensorFault: DriverCause(domain: "fprintd", code: "sensor"),
            fingers: ["right-index-finger", "left-thumb"],
            binding: .templates,
            biometryFailures: 4,
            isBiometryLockedOut: true,
            passcodeFailures: 6,
            passcodeDelay: 3600,
            isClosed: true
        )
        full.hardwareFault = DriverCause(domain: "tpm", code: "hardware")
        full.storeFault = DriverCause(domain: "system", code: "store")
        full.isTamperedWith = true
        full.sensorFacts = SensorFacts(
            grade: .strong,
            gradedBy: .administrator,
            matchesOnChip: true,
            hasSecureChannel: true,
            detectsLiveness: false,
            scanType: "press"
        )
        let everything = StatusReply(
            keybag: .unlocked,
            assurance: .tpm,
            assuranceReasons: ["one", "two"],
            authentication: full,
            promptFault: "no terminal",
            daemonVersion: "1.2.3",
            daemonProcess: 4711,
            storeFaults: ["damaged"],
            itemsFault: DriverCause(domain: "store", code: "items"),
            brokerFault: DriverCause(domain: "broker", code: "away"),
            locking: LockingStatus(
                triggers: LockTriggers(screen: false, sleep: true, lid: true, idle: .seconds(900)),
                sessionsFault: "logind is not on the bus",
                screenSaver: "org.gnome.ScreenSaver",
                secondsLeft: 604_800
            )
        )
        func sparse(
            _ keybag: KeybagState = .notSetUp,
            _ assurance: Assurance = .test,
            _ change: (inout AuthenticationStatus) -> Void = { _ in }
        ) -> StatusReply {
            var authentication = AuthenticationStatus()
            change(&authentication)
            return StatusReply(
                keybag: keybag,
                assurance: assurance,
                assuranceReasons: [],
                authentication: authentication,
                promptFault: nil,
                daemonVersion: "",
                daemonProcess: 0
            )
        }
        var withChip = everything
        withChip.chip = ChipVersion(manufacturer: "IFX", model: "SLB9672", firmware: "16.10.16.17968")
        var messages: [GoldenMessage] = [
            .reply(.status, comparing: "every field", everything),
            .reply(.status, comparing: "a chip", withChip),
        ]
        messages += KeybagState.allCases.map { .reply(.status, comparing: "keybag \($0)", sparse($0)) }
        messages += Assurance.allCases.filter { $0 != .test }.map {
            .reply(.status, comparing: "assurance \($0.name)", sparse(.locked, $0))
        }
        let bindings: [(String, Enrolment.Binding)] = [
            ("names", .names), ("templates", .templates), ("unknown", .untold),
        ]
        messages += bindings.map { name, binding in
            .reply(.status, comparing: "binding \(name)", sparse(.locked) { $0.binding = binding })
        }
        let grades: [(String, SensorFacts.Grade)] = [
            ("weak", .weak), ("strong", .strong), ("unsafe", .unsafe),
        ]
        messages += grades.map { name, grade in
            .reply(
                .status,
                comparing: "grade \(name)",
                sparse(.damaged) { $0.sensorFacts = SensorFacts(grade: grade) }
            )
        }
        messages += SensorFacts.Grader.allCases.filter { $0 != .nobody }.map { grader in
            .reply(
                .status,
                comparing: "graded by \(grader)",
                sparse(.damaged) { $0.sensorFacts = SensorFacts(gradedBy: grader) }
            )
        }
        return messages
    }

    private static func changes() -> [GoldenMessage] {
        [
            .reply(.watch, comparing: "none yet", more: true, ChangesReply()),
            .reply(.watch, comparing: "incomplete", more: true, ChangesReply(isIncomplete: true)),
        ]
            + KeychainChange.Kind.allCases.map { kind in
                let change = KeychainChange(kind, time: 1_700_000_000_000_000)
                return .reply(.watch, comparing: "\(kind)", more: true, ChangesReply(changes: [change]))
            } + [
                .reply(
                    .watch,
                    comparing: "two",
                    more: true,
                    ChangesReply(changes: [
                        KeychainChange(.unlocked, time: 1), KeychainChange(.locked, time: 2),
                    ])
                )
            ]
    }

    private static func exports(_ method: Method) -> [GoldenMessage] {
        var report = ExportReport(items: 70_000, isSetAuthentic: false)
        for reason in ExportReport.Reason.allCases {
            report.leaveOut(reason, named: .init(reason: reason, group: "g\(reason.rawValue)", name: "é"))
        }
        report.leaveOut(.damaged)
        return [
            .reply(
                method,
                comparing: "progress",
                more: true,
                ExportPart(progress: ProgressBody(done: 1, total: 500))
            ),
            .reply(
                method,
                comparing: "part",
                more: true,
                ExportPart(total: 1 << 20, octets: [1, 2, 3])
            ),
            .reply(method, comparing: "report", ExportPart(total: 1 << 20, report: report)),
            .reply(method, comparing: "empty report", ExportPart(total: 0, report: ExportReport())),
        ]
    }

    private static func exportedItems() -> [GoldenMessage] {
        let items = ExportedItem.Outcome.allCases.map { outcome in
            ExportedItem(
                outcome,
                itemClass: .internetPassword,
                group: "g",
                name: "é",
                accessControl: AccessControl(accessibility: .whenUnlocked),
                newName: outcome == .besides ? "é (backup)" : nil
            )
        }
        let progress = ExportItems(progress: ProgressBody(done: 1, total: 500))
        return [
            .reply(.openExport, comparing: "progress", more: true, progress),
            .reply(.openExport, comparing: "items", more: true, ExportItems(items)),
            .reply(.openExport, comparing: "end", ExportItems()),
        ]
    }

    private static func repairs() -> [GoldenMessage] {
        var repair = StoreRepair()
        for finding in StoreRepair.Finding.allCases {
            repair.note(StoreRepair.Item(finding, group: "g\(finding.rawValue)", name: "n"))
        }
        repair.note(StoreRepair.Item(.damaged, group: "g", name: nil))
        repair.unnamed = 5
        repair.missing = 6
        repair.kept = 7
        repair.keptAside = "items.sqlite.aside"
        var flags: [(String, StoreRepair)] = []
        for (name, flag) in [
            ("log damaged", \StoreRepair.isLogDamaged), ("log saved", \.isLogSaved),
            ("record damaged", \.isRecordDamaged), ("file damaged", \.isFileDamaged),
        ] {
            var flagged = StoreRepair()
            flagged[keyPath: flag] = true
            flags.append((name, flagged))
        }
        return [
            progress(.repair), .reply(.repair, comparing: "every field", RepairReply(repair)),
            .reply(.repair, comparing: "no fault", RepairReply(StoreRepair())),
        ] + flags.map { name, repair in .reply(.repair, comparing: name, RepairReply(repair)) }
    }

    private static func pastAuthentications() throws -> [GoldenMessage] {
        let group = try Value.group("/usr/bin/app")
        let kinds: [(AuthenticationFactor, Bool)] = [
            (.biometry, false), (.biometry, true), (.passcode, false),
        ]
        let past = kinds.enumerated().map { index, kind in
            PastAuthentication(
                factor: kind.0,
                isOfWeakSensor: kind.1,
                age: .milliseconds(70_000 * index),
                group: group
            )
        }
        return [
            .reply(.lastAuthentications, comparing: "each kind", PastAuthenticationsReply(past)),
            .reply(.lastAuthentications, comparing: "none", PastAuthenticationsReply([])),
        ]
    }

    private static func apps(_ method: Method) throws -> [GoldenMessage] {
        guard method == .listApps else {
            return [
                .reply(method, comparing: "moved", MoveReply(count: 2, names: ["a", "b"], clashes: [])),
                .reply(method, comparing: "clash", MoveReply(count: 1, names: ["a"], clashes: ["c"])),
            ]
        }
        var counts: [ItemClass: Int] = [:]
        for (index, itemClass) in ItemClass.allCases.enumerated() { counts[itemClass] = index + 1 }
        let owners = [
            ItemOwner(
                group: try Value.group("/usr/bin/app"),
                counts: counts,
                lastChange: 1_700_000_000_000_000
            ),
            ItemOwner(group: try Value.group("team")),
        ]
        return [
            .reply(method, comparing: "two groups", AppsReply(owners)),
            .reply(method, comparing: "none", AppsReply([])),
        ]
    }

    private static func key(
        isHardware: Bool,
        usesLeft: UInt32? = nil,
        isCounted: Bool = false
    ) throws -> EnclaveKey {
        EnclaveKey(
            representation: Value.bytes(0x80, 40),
            publicKey: Value.publicKey,
            accessControl: try Value.control(),
            isHardware: isHardware,
            usesLeft: usesLeft,
            isCounted: isCounted
        )
    }

    private static let identity = AttestationIdentity(
        endorsementKey: [1, 2],
        certificates: [[3], [4, 5]],
        attestationKey: [6]
    )

    private static func attestations() -> [GoldenMessage] {
        let certification = KeyCertification(
            publicArea: [7, 8],
            statement: [9],
            signature: Value.bytes(0x50, 64),
            policy: [.authValue, PolicyStep(command: 0x160, operands: [[10], [11, 12]])]
        )
        let evidence = Attestation.Evidence(identity: identity, certification: certification)
        return [
            .reply(
                .attestKey,
                comparing: "evidence",
                Attestation(publicKey: Value.publicKey, evidence: evidence)
            ),
            .reply(
                .attestKey,
                comparing: "software key",
                Attestation(publicKey: Value.publicKey, evidence: nil)
            ),
        ]
    }

    private static func availabilities() -> [GoldenMessage] {
        let error = AuthenticationError(
            .biometryLockout,
            cause: DriverCause(.passcodeDue),
            remedy: .usePasscode
        )
        let no = AuthenticationAvailability(error: error, hasSensor: false, domainState: nil)
        let yes = AuthenticationAvailability(error: nil, hasSensor: true, domainState: Value.bytes(2, 32))
        return [
            .reply(.canEvaluatePolicy, comparing: "available", AvailabilityReply(yes)),
            .reply(.canEvaluatePolicy, comparing: "not available", AvailabilityReply(no)),
        ]
    }

    private static func boxes() -> [GoldenMessage] {
        let inputs: [(String, Prompt.Input)] = [
            ("secret", .secret), ("new secret", .newSecret), ("confirmation", .confirmation),
            ("touch", .touch), ("touch or secret", .touchOrSecret),
        ]
        let sparse = inputs.map { name, input in
            let prompt = Prompt(
                input,
                requester: "app",
                startedBy: "bash",
                heading: "Unlock",
                timeout: .milliseconds(1500)
            )
            let box = AgentBox(number: 9, prompt: prompt, origin: PromptOrigin(), secret: nil)
            return GoldenMessage.reply(.agentNext, "\(name), no optional field", box)
        }
        var prompt = Prompt(
            .newSecret,
            requester: "/usr/bin/app",
            reason: "open",
            details: PromptDetails(title: "Bank", subtitle: "Giro 12", items: ["to: Alice"]),
            heading: "New passcode",
            fieldLabel: "Passcode:",
            error: "No match.",
            cancelTitle: "No",
            fallbackTitles: [],
            timeout: .seconds(120)
        )
        prompt.othersWaiting = 2
        prompt.judge = NewSecretJudge(rule: "At least 4.") { _ in .init(percent: 1, refusal: nil) }
        let origin = PromptOrigin(
            terminalType: "xterm",
            characterType: "en_GB.UTF-8",
            language: "ja_JP.UTF-8",
            client: PromptClient(process: 4711, start: 98_765)
        )
        let full = AgentBox(number: 9, prompt: prompt, origin: origin, secret: Value.secret("code"))
        return [.reply(.agentNext, "every field", full)] + sparse
    }
}
