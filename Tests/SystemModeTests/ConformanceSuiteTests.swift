import Foundation
import Glibc
import Testing
import TouchstoneTesting

@Suite(
    "Apple's rules in system mode",
    .enabled(
        if: SystemModeMachine.isPossible,
        "needs root, and a machine that lets it mount: unshare, nsenter, setpriv"
    )
)
struct ConformanceSuiteTests {
    @Test("the conformance suite passes for a user whose keychain is kept by the system account")
    func suite() async throws {
        let person = try ScriptedOwner()
        let machine = try await SystemModeMachine.start(
            configuration: ScriptedOwner.settings + ["biometry = off", person.setting]
        )
        // This process contains the suite; the user may not access its build directory.
        let program = SystemModeMachine.programs + "/suite"
        let ours = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        let isThere = try await machine.run(
            [
                "/bin/sh", "-ec",
                """
                touch \(program)
                mount --bind '\(ours)' \(program)
                mkdir /etc/touchstone/access-groups.d
                """,
            ],
            as: .root
        )
        #expect(isThere.status == 0, "\(isThere.output)")
        try machine.write(
            "[org.example.conformance]\n\(program)\n",
            to: "/etc/touchstone/access-groups.d/conformance.conf"
        )
        let broker = try await machine.startBroker()
        defer { broker.stop() }
        let daemon = try await machine.startDaemon(for: .alice)
        let setUp = try await machine.command(["setup"], by: person)
        #expect(setUp.status == 0, "\(setUp.output)")
        let boxes = person.boxes

        let environment = person.environment.merging([
            "CONFORMANCE_KEYCHAIN": try person.meetUsers(),
            "TMPDIR": FileManager.default.temporaryDirectory.path,
        ]) { $1 }
        let log = machine.directory.appending("suite.log")
        let suite = try await machine.start(
            [program, "--testing-library", "swift-testing", "--filter", "^ConformanceTests\\."],
            as: .alice,
            environment: environment,
            log: log
        )
        // The suite takes half a minute.
        let finished = try Finished(await suite.waitUntilEnd(atMost: .seconds(900)), log: log)
        let failures = finished.output.split(separator: "\n").filter { $0.hasPrefix("✘") }
        #expect(finished.status == 0 && failures.isEmpty, "\(failures.joined(separator: "\n"))")
        let passed = finished.output.split(separator: "\n").filter {
            $0.hasPrefix("✔ Test ") && $0.contains(" passed after ")
        }
        #expect(passed.count > 80, "\(finished.output.suffix(4000))")
        // The suite used this keychain, and no daemon of the user's own.
        #expect(person.boxes > boxes)
        #expect(daemon.process.isRunning)
    }
}
