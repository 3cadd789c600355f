import Foundation
import KeychainClient
import KeychainModel
import Testing
import TouchstoneTesting

@Suite(
    "Changes of the enrolled fingers at any time",
    .serialized,
    .enabled(if: TPMMachine.isThere, "touchstoned or swtpm is missing"),
    .enabled(if: FileManager.default.isExecutableFile(atPath: "/usr/libexec/fprintd"), "no fprintd"),
    .timeLimit(.minutes(60))
)
struct EnrolmentMatrixTests {
    enum Change: String, CaseIterable {
        case replace, add, deleteAndAdd
    }

    enum Moment: String, CaseIterable {
        case running, locked, stopped, fprintdRestarted
    }

    /// One combination.
    struct Cell: Sendable, CustomTestStringConvertible {
        var isRead: Bool
        var change: Change
        var moment: Moment
        var hasTemplates: Bool
        var hasTPM: Bool

        var testDescription: String {
            "\(change) while \(moment), \(isRead ? "after" : "before") a finger read it, by "
                + "\(hasTemplates ? "templates" : "names")\(hasTPM ? ", with a TPM" : "")"
        }

        /// A sensor with its own storage loses its prints when fprintd restarts.
        var sensor: PrivateBus.Sensor { moment == .fprintdRestarted ? .text : .storage }

        /// Whether the change is detectable: by names alone a replacement while the daemon is stopped is not.
        var isVisible: Bool { hasTemplates || change == .add || moment != .stopped }

        static var all: [Cell] {
            var cells: [Cell] = []
            for isRead in [false, true] {
                for change in Change.allCases {
                    for moment in Moment.allCases {
                        for hasTemplates in [true, false] {
                            for hasTPM in [false, true] {
                                let cell = Cell(
                                    isRead: isRead,
                                    change: change,
                                    moment: moment,
                                    hasTemplates: hasTemplates,
                                    hasTPM: hasTPM
                                )
                                if cell.isVisible { cells.append(cell) }
                            }
                        }
                    }
                }
            }
            return cells
        }

        /// Nearly all pairs of values.
        static var some: [Cell] {
            [
                Cell(isRead: false, change: .replace, moment: .running, hasTemplates: true, hasTPM: false),
                Cell(isRead: false, change: .add, moment: .stopped, hasTemplates: false, hasTPM: true),
                Cell(
                    isRead: false,
                    change: .deleteAndAdd,
                    moment: .locked,
                    hasTemplates: false,
                    hasTPM: false
                ),
                Cell(isRead: true, change: .replace, moment: .stopped, hasTemplates: true, hasTPM: true),
                Cell(isRead: true, change: .add, moment: .locked, hasTemplates: true, hasTPM: true),
                Cell(
                    isRead: true,
                    change: .replace,
                    moment: .fprintdRestarted,
                    hasTemplates: false,
                    hasTPM: false
                ),
                Cell(
                    isRead: false,
                    change: .deleteAndAdd,
                    moment: .fprintdRestarted,
                    hasTemplates: true,
                    hasTPM: true
                ),
            ]
        }
    }

    @Test(
        "a change invalidates the bound items and is logged: the set was known when they were bound",
        arguments: CaseSize.of(Cell.some, full: Cell.all)
    )
    func survivors(cell: Cell) async throws {
        let bus = try await PrivateBus.start(sensors: [cell.sensor])
        let enroller = Enroller(bus, sensor: cell.sensor)
        let reader = VirtualReader(bus, sensor: cell.sensor)
        try await enroller.enrol(print: "mine")
        let directory = cell.hasTemplates ? bus.templateDirectory : "/nonexistent"
        let settings = ["test.template-directory = \(directory)"]
        let machine = cell.hasTPM ? try await TPMMachine.ready(bus: bus, settings: settings) : nil
        let keychain: PrivateKeychain
        if let machine {
            keychain = machine.keychain
        } else {
            keychain = try await PrivateKeychain.ready(bus: bus, settings: settings)
        }
        try keychain.add("set", "by this set", .biometryCurrentSet)
        try keychain.add("any", "by any finger", .biometryAny)
        if cell.isRead {
            try keychain.tellPerson([.waits])
            async let value = keychain.apart { try $0.value("set") }
            try await reader.scan("mine")
            #expect(try await value == "by this set")
        }

        switch cell.moment {
        case .running: try await make(cell.change, enroller)
        case .locked:
            try keychain.client.lock()
            try await make(cell.change, enroller)
        case .stopped:
            keychain.stop(with: SIGTERM)
            try await make(cell.change, enroller)
            try await keychain.start()
        case .fprintdRestarted:
            try await bus.killFprintd()
            try await bus.startFprintd()
            try await make(cell.change, enroller)
            try await bus.killFprintd()
            try await bus.startFprintd()
        }

        try keychain.unlock()
        // A surviving item would show a prompt, which the new finger could answer.
        try keychain.tellPerson([.cancels, .cancels])
        let gone = try #require(keychain.failure { _ = try keychain.value("set") })
        #expect(gone.status == .itemNotFound)
        #expect(gone.cause == .invalidated)
        try await keychain.expectLogged("enrolmentChanged")
        try await keychain.expectLogged("itemsInvalidated")
        // New items are bound to the new set, and usable.
        try keychain.tellPerson([])
        try keychain.client.lock()
        try keychain.unlock()
        try keychain.add("newer", "by the new set", .biometryCurrentSet)
        // A sensor that verifies one of two fingers at a time would need another touch.
        if cell.sensor == .storage || cell.change != .add {
            try keychain.tellPerson([.waits])
            async let newer = keychain.apart { try $0.value("newer") }
            try await reader.scan(cell.change == .add ? "mine" : "theirs")
            #expect(try await newer == "by the new set")
        }
        await bus.stop()
    }

    private func make(_ change: Change, _ enroller: Enroller) async throws {
        switch change {
        case .replace: try await enroller.enrol(print: "theirs")
        case .add: try await enroller.enrol(print: "theirs", as: "left-thumb")
        case .deleteAndAdd:
            try await enroller.delete("right-index-finger")
            try await enroller.enrol(print: "theirs")
        }
    }
}

@Suite(
    "The enrolled fingers at the time of binding",
    .serialized,
    .enabled(if: TPMMachine.isThere, "touchstoned or swtpm is missing"),
    .enabled(if: FileManager.default.isExecutableFile(atPath: "/usr/libexec/fprintd"), "no fprintd"),
    .timeLimit(.minutes(20))
)
struct BoundSetTests {
    @Test(
        "without a finger nothing can be bound to the set, neither items nor keys; with one it can"
    )
    func noFinger() async throws {
        let bus = try await PrivateBus.start(sensors: [.storage])
        let keychain = try await PrivateKeychain.ready(bus: bus)
        func refusals() throws -> [KeychainError?] {
            let rule = try AccessControl(accessibility: .whenUnlocked, flags: .biometryCurrentSet)
            let either = try AccessControl(
                accessibility: .whenUnlocked,
                flags: [.biometryCurrentSet, .or, .devicePasscode]
            )
            let keyRule = try AccessControl(
                accessibility: .whenUnlocked,
                flags: [.biometryCurrentSet, .privateKeyUsage]
            )
            return [
                keychain.failure { try keychain.add("set", "secret", .biometryCurrentSet) },
                keychain.failure { try keychain.add("set", "secret", either.flags) },
                keychain.failure { try keychain.rebind("plain", to: rule) },
                keychain.failure {
                    _ = try keychain.client.makeKey(
                        MakeKey(accessControl: keyRule, prompt: keychain.prompt())
                    )
                },
            ]
        }
        try keychain.add("plain", "kept")
        for refusal in try refusals() {
            #expect(refusal?.status == .authFailed)
            #expect(refusal?.authentication?.code == .biometryNotEnrolled)
            #expect(refusal?.remedy == .enrolFinger)
        }
        #expect(keychain.failure { _ = try keychain.value("set") }?.status == .itemNotFound)
        #expect(try keychain.value("plain") == "kept")
        let command = try await keychain.touchstone("set k --require finger --from-file /etc/hostname")
        #expect(command.status == 7)
        #expect(command.output.contains("'k' was not stored"))
        #expect(command.output.contains("fprintd-enroll"))
        #expect(try await keychain.touchstone("show k").status == 3)

        // Following the advice loses nothing.
        try await Enroller(bus, sensor: .storage).enrol(print: "mine")
        #expect(try refusals().allSatisfy { $0 == nil || $0?.status == .duplicateItem })
        let reader = VirtualReader(bus, sensor: .storage)
        try keychain.client.lock()
        try keychain.unlock()
        try keychain.tellPerson([.waits])
        async let value = keychain.apart { try $0.value("plain") }
        try await reader.scan("mine")
        #expect(try await value == "kept")
        await bus.stop()
    }

    @Test("a set that cannot be read binds nothing, also if it was unreadable at set-up")
    func unseen() async throws {
        let bus = try await PrivateBus.start(sensors: [])
        let fprintd = try await ScriptedFprintd.start(
            on: bus,
            .init(errors: ["ListEnrolledFingers": "PermissionDenied"])
        )
        let keychain = try await PrivateKeychain.ready(
            bus: bus,
            settings: ["test.template-directory = /nonexistent"]
        )
        let refusal = keychain.failure { try keychain.add("set", "secret", .biometryCurrentSet) }
        #expect(refusal?.status == .authFailed)
        #expect(refusal?.authentication?.code == .biometryNotAvailable)
        #expect(refusal?.cause == DriverCause(domain: "fprintd", code: "PermissionDenied"))
        let command = try await keychain.touchstone("set k --require finger --from-file /etc/hostname")
        #expect(command.status == 7)
        #expect(command.output.contains("net.reactivated.fprint.device.verify"))

        fprintd.change { $0.errors = [:] }
        // The first readable set counts as a change.
        try keychain.add("set", "secret", .biometryCurrentSet)
        try await keychain.expectLogged("seen for the first time")
        let first = keychain.failure { _ = try keychain.value("set") }
        #expect(first?.authentication?.code == .biometryLockout)
        await bus.stop()
    }

    @Test("a lost secret is listed and shown with its date, and can be deleted; the prompt gives the reason")
    func lost() async throws {
        let bus = try await PrivateBus.start(sensors: [.storage])
        let enroller = Enroller(bus, sensor: .storage)
        try await enroller.enrol(print: "mine")
        let keychain = try await PrivateKeychain.ready(
            bus: bus,
            settings: ["test.template-directory = \(bus.templateDirectory)"]
        )
        for name in ["k", "other"] {
            #expect(
                try await keychain.touchstone("set \(name) --require finger --from-file /etc/hostname").status
                    == 0
            )
        }
        #expect(
            try await keychain.touchstone("set kept --require either --from-file /etc/hostname").status == 0
        )
        try await enroller.enrol(print: "theirs", as: "left-thumb")
        #expect(try await keychain.touchstone("get k").status == 3)
        let list = keychain.home.appending("list")
        #expect(try await keychain.touchstone("list >\(list)").status == 0)
        let lines = try String(contentsOfFile: list, encoding: .utf8).split(separator: "\n")
        #expect(lines.count == 3)
        #expect(lines.first?.contains("\tlost 20") == true)
        #expect(lines.last(where: { $0.hasPrefix("kept") })?.hasSuffix("\tusable\tunlocked") == true)
        #expect(try await keychain.touchstone("list --json >\(list)").status == 0)
        #expect(try String(contentsOfFile: list, encoding: .utf8).contains("\"lost\": \"20"))
        #expect(try await keychain.touchstone("show k >\(list)").status == 0)
        #expect(try String(contentsOfFile: list, encoding: .utf8).contains("State:      lost on 20"))

        // The date survives a restart of the daemon.
        keychain.stop(with: SIGTERM)
        try await keychain.start()
        try keychain.unlock()
        #expect(try await keychain.touchstone("show k >\(list)").status == 0)
        #expect(try String(contentsOfFile: list, encoding: .utf8).contains("State:      lost on 20"))
        let removed = try await keychain.touchstone("delete k --yes")
        #expect(removed.status == 0, "\(removed.output)")
        #expect(try await keychain.touchstone("delete k --yes").status == 3)
        #expect(try await keychain.touchstone("show k").status == 3)
        #expect(try await keychain.touchstone("show other").status == 0)
        await bus.stop()
    }
}

extension PrivateKeychain {
    /// Changes an item's access control.
    fileprivate func rebind(_ account: String, to rule: AccessControl) throws {
        _ = try client.update(
            UpdateItems(
                query: ItemQuery(
                    itemClass: .genericPassword,
                    attributes: [.service: .string("machine"), .account: .string(account)]
                ),
                attributes: [:],
                accessControl: rule,
                data: nil,
                prompt: prompt()
            )
        )
    }
}
