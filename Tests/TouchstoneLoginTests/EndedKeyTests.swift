import Foundation
import LoopbackHTTP
import Testing
import Touchstone
import TouchstoneTesting
import WebAuthnModel

@testable import TouchstoneLogin

extension TenStepsTests {
    @Suite("Keys that ended are reported to the server")
    struct EndedKeyTests {
        /// Waits until the server's list says why a credential ended.
        private func wait(for reason: String, of device: LoginDevice, _ account: String, _ world: LoginWorld)
            async throws
        {
            try await Deadline.wait(for: "the server to know: \(reason)") {
                try world.suspension(device.id, of: account) == reason ? true : nil
            }
        }

        private func reports(_ world: LoginWorld) -> [Relay.Exchange] {
            world.relay.exchanges.filter { $0.path.hasSuffix("/end") }
        }

        @Test("after a change of fingers, at the next start, without a password and without a prompt")
        func invalidated() async throws {
            let world = try await LoginWorld()
            try world.addUser("berta")
            try await world.keychain.use {
                let login = world.login()
                let (session, device) = try await world.setUp(login)
                let anna = login.account(session.account)
                // Of a rule that accepts later enrolments: her key goes on.
                let bertas = world.login(.biometry.acceptingLaterEnrolments())
                let (other, tablet) = try await world.setUp(bertas, as: "berta")
                try await world.keychain.enrol(.second)
                let prompts = world.keychain.prompts.count
                // The server is away at the first start.
                world.relay.script { $0.path.hasSuffix("/end") ? .cut : .pass }
                try await Deadline.wait(for: "the daemon to see it") {
                    try await anna.state() == .invalidated(device) ? true : nil
                }
                try await Deadline.wait(for: "a report") { self.reports(world).isEmpty ? nil : true }
                #expect(try world.suspension(device.id, of: session.account) == nil)
                world.relay.passAll()
                #expect(try await world.login().account(session.account).state() == .invalidated(device))
                try await wait(for: "invalidated", of: device, session.account, world)
                #expect(world.keychain.prompts.count == prompts)
                #expect(try world.suspension(tablet.id, of: other.account) == nil)
                let audit = try world.administer("GET", "/users/\(session.account)/audit")
                let ends = (audit["records"]?.array ?? []).filter {
                    $0.object?["event"]?.string == "credential_suspended"
                }
                #expect(ends.map { $0.object?["reason"]?.string } == ["invalidated"])
                // It is reported once, and the app still decides.
                let count = reports(world).count
                for _ in 0..<3 { #expect(try await anna.state() == .invalidated(device)) }
                await #expect(throws: TouchstoneError(.invalidated)) { try await anna.signIn("No") }
                #expect(reports(world).count == count)
                // Set up again, the list has the new key alone.
                let again = try await world.session(login)
                let renewed = try #require(try await again.offer())
                let new = try await renewed.accept(label: "Laptop", "Sign in by finger again")
                #expect(new.label == "Laptop")
                #expect(try await again.devices().map(\.id) == [new.id])
                #expect(try await anna.signIn("Sign in").user == "anna")
                #expect(try await bertas.account(other.account).signIn("Sign in").user == "berta")
            }
        }

        @Test("after it was deleted here, at once or at the next start, whoever signs in then")
        func deleted() async throws {
            let world = try await LoginWorld()
            try await world.keychain.use {
                let login = world.login()
                let (session, device) = try await world.setUp(login)
                try await login.forgetDevice()
                try await wait(for: "deleted", of: device, session.account, world)
                try await Deadline.wait(for: "nothing to report") {
                    try await world.kept(login).isEmpty ? true : nil
                }

                // The server is away; then it does not answer in time; then nobody has signed in since.
                let (_, second) = try await world.setUp(login)
                world.relay.script { $0.path.hasSuffix("/end") ? .cut : .pass }
                try await login.forgetDevice()
                #expect(try await world.kept(login) == ["forgotten"])
                let count = reports(world).count
                #expect(try await login.state() == .signedOut)
                try await Deadline.wait(for: "another report") { reports(world).count > count ? true : nil }
                #expect(try world.suspension(second.id, of: session.account) == nil)
                world.relay.passAll()
                // A report that is on its way meanwhile counts for this one.
                try await Deadline.wait(for: "the next start's report") {
                    guard try await world.login().state() == .signedOut else { return nil as Bool? }
                    return try world.suspension(second.id, of: session.account) == "deleted" ? true : nil
                }
                try await Deadline.wait(for: "nothing to report") {
                    try await world.kept(login).isEmpty ? true : nil
                }
            }
        }

        @Test("a locked keychain reports nothing and asks nobody; a reply that was lost is no loss")
        func locked() async throws {
            let world = try await LoginWorld()
            try await world.keychain.use {
                let login = world.login()
                let (session, device) = try await world.setUp(login)
                world.relay.script { $0.path.hasSuffix("/end") ? .loseAnswer : .pass }
                try await login.forgetDevice()
                try await wait(for: "deleted", of: device, session.account, world)
                world.relay.passAll()
                try await world.keychain.cause(.daemonCrash)
                let (prompts, requests) = (world.keychain.prompts.count, reports(world).count)
                #expect(try await login.state() == .locked)
                #expect(try await login.state("Sign in") == .signedOut)
                #expect(world.keychain.prompts.count == prompts + 1)
                try await Deadline.wait(for: "nothing to report") {
                    _ = try await login.state()
                    return try await world.kept(login).isEmpty ? true : nil
                }
                #expect(reports(world).count > requests)
            }
        }

        @Test("what an earlier version forgot is removed at the password sign-in of its user")
        func earlier() async throws {
            let world = try await LoginWorld()
            try world.addUser("berta")
            try await world.keychain.use {
                let login = world.login()
                let (session, device) = try await world.setUp(login)
                try await login.store.delete(session.account)
                let list: JSONValue = [["user": "anna", "id": .string(device.id)]]
                let old = try JSONDecoder().decode([ForgottenDevice].self, from: Data(list.json))
                try await world.records.write(old, for: "forgotten")
                _ = try await login.signIn(user: "berta", password: SignInServer.password)
                #expect(try await world.kept(login) == ["forgotten"])
                #expect(try await session.devices().map(\.id) == [device.id])
                let again = try await world.session(login)
                #expect(try await again.devices().isEmpty)
                #expect(try await world.kept(login).isEmpty)
                #expect(reports(world).isEmpty)
            }
        }
    }
}
