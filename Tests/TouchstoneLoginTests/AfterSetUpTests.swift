import Foundation
import LoopbackHTTP
import Testing
import Touchstone
import TouchstoneTesting
import WebAuthnModel

@testable import TouchstoneLogin

extension TenStepsTests {
    @Suite("Devices after set-up")
    struct AfterSetUp {
        @Test("after a change of fingers the app is told and decides; no key is made without it")
        func enrolmentChange() async throws {
            let world = try await LoginWorld()
            let keychain = world.keychain
            try await keychain.use {
                let login = world.login()
                let (_, device) = try await world.setUp(login)
                try await keychain.enrol(.second)
                let prompts = keychain.prompts.count
                /// The requests but for those that report the end of the key, which ``EndedKeyTests`` looks at.
                func requests() -> Int { world.relay.exchanges.count { !$0.path.hasSuffix("/end") } }
                let before = requests()
                try await Deadline.wait(for: "the daemon to see it") {
                    try await login.state() == .invalidated(device) ? true : nil
                }
                for _ in 0..<2 {
                    await #expect(throws: TouchstoneError(.invalidated)) { try await login.signIn("No") }
                    await #expect(throws: TouchstoneError(.invalidated)) { try await login.resume("No") }
                }
                #expect(keychain.prompts.count == prompts && requests() == before)
                #expect(try await login.state() == .invalidated(device), "nothing was made anew")

                // After a password login the user may decide; until then nothing changes.
                let session = try await world.session(login)
                let offer = try #require(try await session.offer())
                #expect(try await login.state() == .invalidated(device))
                keychain.person(.cancels)
                await #expect(throws: TouchstoneError(.userCancelled)) {
                    try await offer.accept(label: "Laptop", "No")
                }
                #expect(try await login.state() == .invalidated(device))
                try await Deadline.wait(for: "the report of the key's end") {
                    try await session.devices().isEmpty ? true : nil
                }
                let renewed = try await offer.accept(label: "Laptop", "Sign in by finger again")
                #expect(renewed.id != device.id)
                #expect(try await login.state() == .ready(renewed))
                #expect(try await session.devices().map(\.id) == [renewed.id], "the server was told")
                _ = try await login.signIn("Sign in")

                // Forgetting the device needs no prompt; a server that was away is told at the next password login.
                let shown = keychain.prompts.count
                let key = try await world.credentialKey(login)
                #expect(try await world.refusal(of: key) == nil)
                world.relay.script { $0.path.hasSuffix("/end") ? .cut : .pass }
                try await login.forgetDevice()
                #expect(try await world.refusal(of: key) == .deleted)
                #expect(try await login.state() == .signedOut && keychain.prompts.count == shown)
                #expect(try await session.devices().map(\.id) == [renewed.id])
                let other = try await world.session(login)
                #expect(try await other.devices().isEmpty)
                #expect(try await world.kept(login).isEmpty)
                #expect(try await login.state() == .signedOut)
            }
        }

        @Test("a lost device is removed from another computer, and refused from then on")
        func lostDevice() async throws {
            let world = try await LoginWorld()
            let finder = world.keychain
            let (login, device) = try await finder.use {
                let login = world.login()
                return (login, try await world.setUp(login).1)
            }
            // The owner at another computer.
            let owner = try await TemporaryKeychain(reader: .matchOnChip)
            try await owner.use {
                let session = try await world.session(world.login())
                let found = try await session.devices()
                #expect(found.map(\.id) == [device.id] && found.first?.isThisDevice == false)
                try await session.remove(try #require(found.first))
                #expect(try await session.devices().isEmpty)
                await #expect(throws: TouchstoneError(.notFound)) { try await session.remove(device) }
            }
            try await finder.use {
                let refused = await failure { () async throws(TouchstoneError) in
                    try await login.signIn("Let me in")
                }
                #expect(refused == .deviceRevoked && refused?.nextStep == .setUpAgain, "\(refused as Any)")
                #expect(refused?.cause == "authentication_failed")
                // The password session that set the device up is the owner's; its token is refused once that session has ended,
                // too.
                #expect(try await login.state() == .ready(device), "the app decides what becomes of its key")
                // There is nothing that the server would have to be told.
                try await login.forgetDevice()
                try await Deadline.wait(for: "nothing to report") {
                    try await world.kept(login).isEmpty ? true : nil
                }
            }
            // A device removes itself: first from the server, then locally.
            try await owner.use {
                let login = world.login()
                let (session, own) = try await world.setUp(login)
                try await session.remove(own)
                #expect(try await session.devices().isEmpty)
                #expect(try await world.kept(login).isEmpty)
                #expect(try await login.state() == .signedOut)
            }
        }

        @Test("a suspended device is told as such, and signs in again once it is restored")
        func suspended() async throws {
            let world = try await LoginWorld()
            try await world.keychain.use {
                let login = world.login()
                let (_, device) = try await world.setUp(login)
                try world.server.setSuspended(true, device.id)
                for _ in 0..<2 {
                    let refused = await failure { () async throws(TouchstoneError) in
                        try await login.signIn("Let me in")
                    }
                    #expect(
                        refused == .deviceRevoked && refused?.nextStep == .setUpAgain,
                        "\(refused as Any)"
                    )
                    #expect(refused?.cause == "credential_suspended")
                }
                #expect(try await login.state() == .ready(device))
                try world.server.setSuspended(false, device.id)
                _ = try await login.signIn("Let me in")
            }
        }

        @Test("signing out everywhere ends the sessions of other devices")
        func everywhere() async throws {
            let world = try await LoginWorld()
            try await world.keychain.use {
                let other = try await world.session(world.login())
                let login = world.login()
                let (session, device) = try await world.setUp(login)
                // A sign-out that the server could not be told of is done locally, and repeated later.
                world.relay.script("DELETE", "/v1/sessions?except=current", .cut)
                await #expect(throws: TouchstoneError(.unreachable)) {
                    try await session.signOut(everywhere: true)
                }
                #expect(try await world.kept(login) == ["device"])
                world.relay.passAll()
                #expect(try await other.devices().count == 1)
                try await session.signOut(everywhere: true)
                try await session.signOut()
                let ended = await failure { () async throws(TouchstoneError) in try await other.devices() }
                #expect(ended?.isEndOfSession == true, "\(ended as Any)")
                #expect(try await login.state() == .ready(device))
            }
        }

        @Test("a session ended by the server ends locally, and its sealed token is deleted")
        func endedSession() async throws {
            let world = try await LoginWorld(settings: ["access-token-lifetime": "60"])
            try await world.keychain.use {
                let login = world.login()
                let (session, device) = try await world.setUp(login)
                let other = try await world.session(world.login())
                let access = try await other.accessToken()
                _ = try world.server.api.send(
                    "DELETE",
                    "/v1/sessions?except=current",
                    headers: ["Authorization": "Bearer \(access)"]
                )
                let resumed = await failure { () async throws(TouchstoneError) in
                    try await login.resume("Go on")
                }
                #expect(resumed == .sessionEnded && resumed?.nextStep == .setUpAgain, "\(resumed as Any)")
                #expect(try await world.kept(login) == ["device"])
                let ended = await failure { () async throws(TouchstoneError) in try await session.devices() }
                #expect(ended?.isEndOfSession == true)
                #expect(try await login.state() == .ready(device))
                _ = try await login.signIn("The key signs in alone")
                #expect(try await world.kept(login) == ["device", "refresh"])
            }
        }

        /// The distinct access tokens returned to concurrent calls.
        private func tokens(of session: LoginSession, askers: Int) async throws -> Set<String> {
            try await withThrowingTaskGroup(of: String.self) { group in
                for _ in 0..<askers { group.addTask { try await session.accessToken() } }
                return try await group.reduce(into: []) { $0.insert($1) }
            }
        }

        @Test("concurrent calls share one renewal of an access token")
        func renewal() async throws {
            // Tokens are renewed ten seconds early, so each one is expired at once.
            let world = try await LoginWorld(settings: ["access-token-lifetime": "10"])
            try await world.keychain.use {
                let session = try await world.session(world.login())
                let tokens = try await tokens(of: session, askers: 8)
                let renewals = world.relay.exchanges.filter { $0.path == "/v1/token" }
                #expect(
                    renewals.count(where: { $0.answer?.contains("access_token") == true }) == tokens.count
                )
                #expect(tokens.count < 8)
            }
        }

        @Test("a locked keychain is a state, and signing in with the passcode unlocks it")
        func locked() async throws {
            let world = try await LoginWorld()
            try await world.keychain.use {
                let login = world.login()
                let (_, device) = try await world.setUp(login)
                try await world.keychain.cause(.lock)
                #expect(try await login.state() == .locked)
                _ = try await login.signIn("Sign in")
                #expect(try await login.state() == .ready(device))
                // Signing out reaches the server, even though the sealed token cannot be deleted now.
                let session = try await login.signIn("Sign in")
                let access = try await session.accessToken()
                try await world.keychain.cause(.lock)
                await #expect(throws: TouchstoneError(.locked)) { try await session.signOut() }
                #expect(try world.call("GET", "/v1/me", access)["code"]?.string == "invalid_token")
                try await world.keychain.cause(.daemonCrash)
                #expect(try await login.state() == .locked)
                _ = try await login.signIn("Sign in")
                #expect(try await login.state() == .ready(device))
            }
        }

        @Test(
            "with a prompt the state is known after each kind of lock: one passcode, and none while it is unlocked"
        )
        func unlocking() async throws {
            let world = try await LoginWorld()
            try await world.keychain.use {
                let login = world.login()
                #expect(try await login.state("Sign in") == .signedOut)
                for fault in [TestFault.lock, .daemonCrash] {
                    try await world.keychain.cause(fault)
                    // Names are known once it was unlocked, and that there is none.
                    #expect(try await login.state() == (fault == .lock ? .signedOut : .locked))
                    await #expect(throws: TouchstoneError(.notFound)) { try await login.signIn("Sign in") }
                    try await world.keychain.cause(fault)
                    #expect(try await login.state("Sign in") == .signedOut)
                }
                let (_, device) = try await world.setUp(login)
                for fault in [TestFault.lock, .daemonCrash] {
                    try await world.keychain.cause(fault)
                    let before = world.keychain.prompts.count
                    #expect(try await login.state("Sign in") == .ready(device))
                    #expect(world.keychain.prompts.count == before + 1)
                    #expect(try await login.state("Sign in") == .ready(device))
                    #expect(try await login.state() == .ready(device))
                    #expect(world.keychain.prompts.count == before + 1)
                    _ = try await login.signIn("Sign in")
                }
                try await world.keychain.cause(.lock)
                world.keychain.person(.cancels)
                await #expect(throws: TouchstoneError(.userCancelled)) { try await login.state("Sign in") }
                #expect(try await login.state() == .locked)
            }
        }

        @Test("a device is used with the rule it was set up with, and no other")
        func rules() async throws {
            let world = try await LoginWorld()
            try await world.keychain.use {
                for rule in [AccessRule.whenUnlocked, .afterFirstUnlock] {
                    let session = try await world.session(world.login(rule))
                    #expect(try await session.offer() == nil, "a rule that asks nobody")
                }
                let (_, device) = try await world.setUp(world.login(.biometryOrPasscode))
                let other = world.login(.biometry)
                let error = await failure { () async throws(TouchstoneError) in try await other.state() }
                #expect(error?.code == .ruleMismatch)
                #expect(error?.details == ["made with: biometryOrPasscode", "asked for: biometry"])
                await #expect(throws: TouchstoneError(.ruleMismatch)) { try await other.signIn("No") }
                world.keychain.person(.typesPasscode)
                let session = try await world.login(.biometryOrPasscode).signIn("Sign in")
                #expect(session.assurance.facts == [.keyBound, .perUse, .passcodeUsed])
                #expect(session.assurance.method == .passcode)
                // The app has another rule now, and sets the device up again with it.
                let renewed = try await world.setUp(other).1
                #expect(renewed.id != device.id)
                #expect(try await other.state() == .ready(renewed))
            }
        }
    }
}
