import Glibc
import Testing
import TouchstoneTesting

@Suite(
    "The polkit rule of system mode",
    .serialized,
    .enabled(
        if: SystemModeMachine.isPossible && ShippedFiles.isProgram("/usr/bin/fprintd-verify")
            && ShippedFiles.isProgram("/usr/lib/polkit-1/polkitd"),
        "needs root, a machine that lets it mount, fprintd and polkitd"
    )
)
struct RuleTests {
    @Test(
        "the rule lets the account only verify a user's finger, and users without a session do nothing"
    )
    func rule() async throws {
        let machine = try await SystemModeMachine.start()
        let bus = try await machine.startBus(
            sensors: [.image],
            rules: try ShippedFiles.text("50-touchstone.rules")
        )
        let finger = SyntheticFinger(1)
        try await Enroller(bus, user: "alice").enrol(finger)
        let account = SystemModeMachine.Account.touchstone
        for program in ["fprintd-enroll", "fprintd-delete"] {
            let refused = try await Self.run(program, on: machine, as: account)
            #expect(refused.contains("PermissionDenied"), "\(refused)")
        }
        for user in [SystemModeMachine.Account.alice, .bob] {
            let refused = try await Self.run("fprintd-verify", on: machine, as: user)
            #expect(refused.contains("PermissionDenied"), "\(refused)")
        }
        async let verified = Self.run("fprintd-verify", on: machine, as: account)
        try await VirtualReader(bus).touch(finger.impression(40))
        let outcome = try await verified
        #expect(outcome.contains("verify-match"), "\(outcome)")
        await bus.stop()
    }

    /// Runs an fprintd program for alice's fingers; repeated while the previous one still holds the sensor,
    /// which fprintd releases a moment after its end.
    private static func run(
        _ program: String,
        on machine: SystemModeMachine,
        as user: SystemModeMachine.Account
    ) async throws -> String {
        try await Deadline.wait(for: "the sensor") {
            let finished = try await machine.run(["/usr/bin/\(program)", "alice"], as: user)
            return finished.output.contains("AlreadyInUse") ? nil : finished.output
        }
    }
}
