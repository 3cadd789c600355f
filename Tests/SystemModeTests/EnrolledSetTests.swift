import Foundation
import Glibc
import Testing
import TouchstoneTesting

@Suite(
    "The enrolled set in system mode",
    .serialized,
    .enabled(
        if: SystemModeMachine.isPossible && SystemModeMachine.hasBroker
            && ShippedFiles.isProgram("/usr/libexec/fprintd")
            && ShippedFiles.isProgram("/usr/lib/polkit-1/polkitd"),
        "needs root, a machine that lets it mount, fprintd and polkitd"
    )
)
struct EnrolledSetTests {
    private static let finger = "right-index-finger"

    /// A machine with a sensor, a finger of alice's, and a daemon that uses the broker.
    private final class Home {
        let person: ScriptedOwner
        let machine: SystemModeMachine
        let bus: PrivateBus
        let enroller: Enroller
        var broker: SystemBroker?
        var daemon: SystemDaemon?

        /// Sets the keychain up, with or without the broker, and stores a secret bound to the enrolled set.
        init(withBroker: Bool = true) async throws {
            person = try ScriptedOwner()
            machine = try await SystemModeMachine.start()
            bus = try await machine.startBus(
                sensors: [.storage],
                rules: try ShippedFiles.text("50-touchstone.rules")
            )
            let settings = [
                person.setting, "test.system-bus-address = \(bus.address)", "test.bus-owner-uid = 0",
            ]
            try machine.write(
                (ScriptedOwner.settings + settings).joined(separator: "\n") + "\n",
                to: "/etc/touchstone/touchstoned.conf"
            )
            enroller = Enroller(bus, sensor: .storage, user: "alice")
            try await enroller.enrol(print: "alpha", as: EnrolledSetTests.finger)
            if withBroker { try await startBroker() }
            try await startDaemon()
            #expect(try await run(["setup"]).status == 0)
            guard withBroker else { return }
            #expect(try await run(["set", "any", "--require", "none"], input: "other").status == 0)
            try await store()
        }

        func startBroker() async throws {
            broker = try await machine.startBroker(templates: bus.templateDirectory)
        }

        /// A broker that names programs but finds no templates.
        func startBlindBroker() async throws { broker = try await machine.startBroker(templates: "/nowhere") }

        func stopBroker() {
            broker?.stop()
            broker = nil
        }

        func startDaemon() async throws {
            daemon = try await machine.startDaemon(for: .alice, drawsItself: true)
        }

        func stopDaemon() async throws {
            daemon?.process.stop(with: SIGTERM)
            daemon = nil
        }

        func store() async throws {
            let added = try await run(["set", "mail", "--require", "finger"], input: "secret")
            #expect(added.status == 0, "\(added.output)")
        }

        func run(_ arguments: [String], input: String = "") async throws -> Finished {
            try await machine.command(arguments, by: person, input: input)
        }

        func unlock() async throws {
            let unlocked = try await run(["unlock"])
            #expect(unlocked.status == 0, "\(unlocked.output)")
        }

        /// Lets the daemon observe the enrolment, and returns how the set is bound.
        func look() async throws -> String {
            let status = try await run(["status", "--json"])
            for word in ["templates", "untold", "names"]
            where status.output.contains("\"enrolmentBinding\": \"\(word)\"") {
                return word
            }
            return status.output
        }

        /// Reads the secret with a fingerprint.
        func read(_ print: String) async throws -> Finished {
            try person.tell([.waits])
            let (machine, environment) = (machine, person.environment)
            async let read = machine.run(
                [SystemModeMachine.command, "get", "mail"],
                as: .alice,
                environment: environment
            )
            try await VirtualReader(bus, sensor: .storage).scan(print)
            return try await read
        }

        var log: String { daemon?.log ?? "" }
    }

    /// A change of the enrolled fingers.
    enum Deed: CaseIterable, Sendable {
        case replace, add, delete, deleteAndAddAgain

        fileprivate func `do`(_ enroller: Enroller) async throws {
            let finger = EnrolledSetTests.finger
            switch self {
            // The same name with another print.
            case .replace: try await enroller.enrol(print: "omega", as: finger)
            case .add: try await enroller.enrol(print: "omega", as: "left-thumb")
            case .delete: try await enroller.delete(finger)
            case .deleteAndAddAgain:
                try await enroller.delete(finger)
                try await enroller.enrol(print: "alpha", as: finger)
            }
        }
    }

    /// The daemon's state during the change.
    enum Time: CaseIterable, Sendable {
        /// The daemon is running and notified.
        case running
        /// The daemon is locked.
        case locked
        /// The daemon is stopped.
        case stopped
        /// The daemon, fprintd and the broker are stopped, as if the machine had been off.
        case off
    }

    @Test(
        "a finger replaced under its name, added, deleted or re-enrolled invalidates what is bound",
        arguments: Time.allCases
    )
    func told(time: Time) async throws {
        for deed in CaseSize.of(
            Deed.allCases.filter { $0 == .replace || time == .stopped },
            full: Deed.allCases
        ) {
            let home = try await Home()
            #expect(try await home.look() == "templates")
            #expect(!home.log.contains("enrolmentChanged"))
            switch time {
            case .running: try await deed.do(home.enroller)
            case .locked:
                #expect(try await home.run(["lock"]).status == 0)
                try await deed.do(home.enroller)
                try await home.unlock()
            case .stopped, .off:
                try await home.stopDaemon()
                try await deed.do(home.enroller)
                if time == .off {
                    home.stopBroker()
                    try await home.bus.killFprintd()
                    try await home.bus.startFprintd()
                    try await home.startBroker()
                }
                try await home.startDaemon()
                try await home.unlock()
            }
            _ = try await home.look()
            try await home.daemon?.expectLogged("itemsInvalidated")
            let dead = try await home.run(["get", "mail"])
            #expect(dead.status != 0 && dead.output.contains("fingers"), "\(deed): \(dead.output)")
            #expect(try await home.run(["get", "any"]).output == "other")
            await home.bus.stop()
        }
    }

    @Test("without the broker nothing is invalidated and nothing bound opens; with it the set is compared")
    func away() async throws {
        let home = try await Home()
        let first = try await home.read("alpha")
        #expect(first.output.contains("secret"), "\(first.output)")
        home.stopBroker()
        #expect(try await home.look() == "untold")
        // Programs get nothing meanwhile; if they can be named, bound items are refused.
        let unnamed = try await home.run(["get", "any"])
        #expect(unnamed.status == 7 && unnamed.output.contains("touchstone-broker"), "\(unnamed.output)")
        try await home.startBlindBroker()
        #expect(try await home.look() == "untold")
        let refused = try await home.run(["get", "mail"])
        #expect(refused.status != 0)
        #expect(refused.output.contains("touchstone-broker does not answer"), "\(refused.output)")
        let unbound = try await home.run(["set", "more", "--require", "finger"], input: "secret")
        #expect(unbound.status != 0, "\(unbound.output)")
        #expect(try await home.run(["get", "any"]).output == "other")
        #expect(!home.log.contains("enrolmentChanged") && !home.log.contains("itemsInvalidated"))
        // The broker is back with the same enrolment.
        home.stopBroker()
        try await home.startBroker()
        #expect(try await home.look() == "templates")
        let again = try await home.read("alpha")
        #expect(again.output.contains("secret"), "\(again.output)")
        // The broker is away again during a replacement and a restart, then back.
        home.stopBroker()
        try await Deed.replace.do(home.enroller)
        #expect(try await home.look() == "untold")
        #expect(!home.log.contains("enrolmentChanged"))
        try await home.stopDaemon()
        try await home.startDaemon()
        try await home.unlock()
        #expect(try await home.look() == "untold")
        #expect(!home.log.contains("enrolmentChanged") && !home.log.contains("itemsInvalidated"))
        try await home.startBroker()
        #expect(try await home.look() == "templates")
        try await home.daemon?.expectLogged("itemsInvalidated")
        await home.bus.stop()
    }

    @Test("a keychain set up without the broker adopts the templates later without a change")
    func adopts() async throws {
        let home = try await Home(withBroker: false)
        #expect(try await home.look() == "untold")
        try await home.startBroker()
        #expect(try await home.look() == "templates")
        #expect(!home.log.contains("enrolmentChanged"))
        try await home.store()
        let read = try await home.read("alpha")
        #expect(read.output.contains("secret"), "\(read.output)")
        await home.bus.stop()
    }
}
