import Foundation
import Testing
import TouchstoneTesting

/// The example program, in its own process.
extension TenStepsTests {
    @Suite("Examples/SignIn")
    struct ProgramTests {
        @Test(
            "killed after the server's confirmation but before its own store, it later sets up again"
        )
        func killed() async throws {
            let relay = try Relay()
            let server = try await SignInServer.start(
                ServerProgram.path,
                settings: ["public-url": relay.url.absoluteString, "password-cost": "10,8,1"]
            )
            relay.stand(before: server.api)
            let bus = try await PrivateBus.start(sensors: [.storage])
            try await Enroller(bus, sensor: .storage).enrol(print: "mine")
            let keychain = try await PrivateKeychain.ready(
                bus: bus,
                settings: ["test.template-directory = \(bus.templateDirectory)"]
            )
            let app = SignInApp(relay: relay, keychain: keychain)
            let reader = VirtualReader(bus, sensor: .storage)

            relay.script("POST", "/v1/credentials", .hangAfter)
            try keychain.tellPerson([.waits])
            let (first, _) = try await app.start()
            try await reader.scan("mine")
            try await Deadline.wait(for: "the server's word") {
                relay.exchanges.last { $0.path == "/v1/credentials" && $0.method == "POST" }?.answer
            }
            first.stop(with: SIGKILL)
            relay.passAll()

            // The next start is like the first, by password; the one after it is by finger.
            for isFirst in [true, false] {
                try keychain.tellPerson([.waits])
                let (process, log) = try await app.start()
                try await reader.scan("mine")
                #expect(try await process.waitUntilEnd() == 0)
                let output = try String(contentsOfFile: log, encoding: .utf8)
                // The killed process's key has the label that was asked for.
                #expect(output.contains("set up: This computer 2\n") == isFirst, "\(output)")
                #expect(output.contains("\nThis computer\nThis computer 2, this device\n"), "\(output)")
            }
            // After a boot: the passcode unlocks the keychain, then the finger signs.
            keychain.stop(with: SIGTERM)
            try await keychain.start()
            try keychain.tellPerson([.usual, .waits])
            let (cold, log) = try await app.start()
            try await reader.scan("mine")
            #expect(try await cold.waitUntilEnd() == 0)
            let output = try String(contentsOfFile: log, encoding: .utf8)
            #expect(output.hasPrefix("signed in as "), "\(output)")
            // Only the server has the killed process's key; nobody can sign with it.
            #expect(try server.revokeDevices() == 2)
            keychain.stop(with: SIGTERM)
            await bus.stop()
        }
    }
}
