/// A machine on which tests run as root that need a keychain each: every keychain belongs to a user of its own.
extension SystemModeMachine {
    /// The users of such tests.
    package static let testUsers = (1...120).map { Account("user\($0)", 64_900 + UInt32($0)) }
    /// Links by user ID to the programs that answer the boxes of ``testUsers``.
    package static let testPinentries = "/run/touchstone-test"
    /// The program that agents start: it runs the one of its user.
    package static let testPinentry = programs + "/pinentry-for-tests"

    /// Creates a machine for such tests, with doors and agents, and the built programs in one directory (`TOUCHSTONE_BIN`).
    ///
    /// - Parameter configuration: the lines of the settings, without the program that shows boxes.
    /// - Returns: the machine; no daemon runs yet.
    /// - Throws: ``TestKitError``.
    package static func startForSuite(configuration: [String]) async throws -> SystemModeMachine {
        let machine = try await start(
            configuration: configuration + ["pinentry-program = \(testPinentry)"],
            others: testUsers
        )
        try machine.installAgent()
        try machine.installDoor()
        // Clients look for no daemon of the user's own.
        try machine.write("", to: "/etc/touchstone/system-only")
        try machine.write("#!/bin/sh\nexec \(testPinentries)/$(id -u) \"$@\"\n", to: testPinentry)
        let prepared = try await machine.run(
            [
                "/bin/sh", "-ec",
                """
                chmod 755 \(testPinentry)
                mkdir \(testPinentries)
                cd \(programs)
                ln -s \(command) touchstone
                ln -s touchstoned touchstoned-testing
                """,
            ],
            as: .root
        )
        guard prepared.status == 0 else { throw TestKitError.unexpected(prepared.output) }
        return machine
    }
}
