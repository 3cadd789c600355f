import Foundation
import LoopbackHTTP
import Testing
import Touchstone
import TouchstoneTesting
import WebAuthnModel

@testable import TouchstoneLogin

extension TenStepsTests {
    @Suite("A key is replaced before its end")
    struct KeyRenewalTests {
        /// A server that accepts a key for thirty days.
        private static func world() async throws -> LoginWorld {
            try await LoginWorld(settings: ["device-key-lifetime": "30"])
        }

        /// Changes the server's reply as if the last part of the key's time had begun.
        private static let due = Relay.Deed.change {
            $0.replacing(/"keyRenewFrom":[0-9]+/, with: #""keyRenewFrom":1"#)
        }

        /// A sign-in by key in the last part of its time, and the offer that it leads to.
        private static func offer(_ world: LoginWorld, _ login: LoginClient) async throws -> DeviceOffer {
            world.relay.script("POST", "/v1/login", due)
            let session = try await login.signIn("Sign in")
            world.relay.passAll()
            return try #require(try await session.offer())
        }

        @Test("in the last part of its time a key gets a successor after one prompt, and ends")
        func renewed() async throws {
            let world = try await Self.world()
            try await world.keychain.use {
                let login = world.login()
                let (first, device) = try await world.setUp(login)
                let until = try #require(try await first.devices().first?.acceptedUntil)
                #expect(abs(until.timeIntervalSinceNow - 30 * 86_400) < 3600)
                // Before that there is no offer.
                #expect(try await login.signIn("Sign in").offer() == nil)
                #expect(try await world.session(login).offer() == nil)

                let offer = try await Self.offer(world, login)
                #expect(offer.replaces == device)
                let key = try await world.credentialKey(login)
                let prompts = world.keychain.prompts.count
                let new = try await offer.accept(label: device.label, "Renew the key of this computer")
                #expect(world.keychain.prompts.count == prompts + 1)
                #expect(new.id != device.id && new.label == device.label)
                #expect(try await world.refusal(of: key) == .deleted)
                #expect(try await login.state() == .ready(new))
                #expect(try await offer.session.offer() == nil)
                #expect(try await offer.session.devices().map(\.id) == [new.id])
                #expect(try await world.kept(login) == ["device", "refresh"])
                #expect(try await login.resume("Go on").user == "anna")
                #expect(try await login.signIn("Sign in").offer() == nil)
            }
        }

        @Test("interrupted anywhere, the former key or its successor signs in, and the other one ends")
        func interrupted() async throws {
            let world = try await Self.world()
            try await world.keychain.use {
                let login = world.login()
                var (_, device) = try await world.setUp(login)
                for (name, method, path, deed, isStored) in [
                    ("cut before the options", "POST", "/v1/credentials/options", .cut, false),
                    ("cut before the end", "POST", "/v1/credentials", .cut, false),
                    // The server has the successor, and the device does not know.
                    ("the answer is lost", "POST", "/v1/credentials", .loseAnswer, false),
                    ("the former key is not removed", "DELETE", "/v1/credentials/", .cut, true),
                    ("the answer to that is lost", "DELETE", "/v1/credentials/", .loseAnswer, true),
                ] as [(String, String, String, Relay.Deed, Bool)] {
                    let offer = try await Self.offer(world, login)
                    world.relay.script { exchange in
                        let isMeant =
                            exchange.method == method
                            && (method == "DELETE" ? exchange.path.hasPrefix(path) : exchange.path == path)
                        // Nor can it be asked.
                        let isLookUp = exchange.method == "GET" && exchange.path.hasPrefix("/v1/credentials/")
                        return isMeant ? deed : isLookUp ? .cut : .pass
                    }
                    let before = device
                    if isStored {
                        device = try await offer.accept(label: before.label, "Renew")
                        #expect(device.id != before.id, "\(name)")
                    } else {
                        await #expect(throws: TouchstoneError(.unreachable), "\(name)") {
                            try await offer.accept(label: before.label, "Renew")
                        }
                    }
                    world.relay.passAll()
                    #expect(try await login.state() == .ready(device), "\(name)")
                    let session = try await login.signIn("Sign in")
                    #expect(try await login.resume("Go on").user == "anna", "\(name)")
                    // What is kept nowhere is reported, and the list has one key again.
                    try await Deadline.wait(for: "one key: \(name)") {
                        _ = try await login.state()
                        let kept = try await world.kept(login)
                        let known = try await session.devices().map(\.id)
                        return kept == ["device", "refresh"] && known == [device.id] ? true : nil
                    }
                }
            }
        }

        @Test("with a full disk the former key stays, and the server is told to delete the successor")
        func diskFull() async throws {
            let world = try await Self.world()
            try await world.keychain.use {
                let login = world.login()
                let (_, device) = try await world.setUp(login)
                let offer = try await Self.offer(world, login)
                try await world.keychain.cause(.diskFull)
                await #expect(throws: TouchstoneError(.diskFull)) {
                    try await offer.accept(label: device.label, "Renew")
                }
                #expect(try await login.state() == .ready(device))
                #expect(try await offer.session.devices().map(\.id) == [device.id])
            }
        }

        @Test(
            "after its time the key is refused with an error of its own, and the password leads to a new one"
        )
        func expired() async throws {
            let world = try await Self.world()
            try await world.keychain.use {
                let login = world.login()
                let (_, device) = try await world.setUp(login)
                world.relay.script(
                    "POST",
                    "/v1/login",
                    .answer(
                        403,
                        ["Content-Type": "application/problem+json"],
                        #"{"code":"credential_expired"}"#
                    )
                )
                let refused = await failure { () async throws(TouchstoneError) in
                    try await login.signIn("Sign in")
                }
                #expect(refused?.code == .expired && refused?.cause == "credential_expired")
                #expect(refused?.nextStep == .setUpAgain && refused?.part == "server")
                // The server knows that the device has no key that it accepts for long.
                world.relay.script(
                    "POST",
                    "/v1/login/password",
                    .change {
                        $0.replacing("\"offerDeviceLogin\":false", with: "\"offerDeviceLogin\":true")
                    }
                )
                let session = try await world.session(login)
                world.relay.passAll()
                let offer = try #require(try await session.offer())
                #expect(offer.replaces == device)
                let new = try await offer.accept(label: device.label, "Sign in by finger from now on")
                #expect(try await login.signIn("Sign in").devices().map(\.id) == [new.id])
            }
        }

        @Test(
            "a refresh token is replaced at each use; a copy of a former one ends the session, and the key signs in"
        )
        func rotation() async throws {
            let world = try await LoginWorld()
            try await world.keychain.use {
                let login = world.login()
                let (session, _) = try await world.setUp(login)
                func sealed() async throws -> String {
                    try await world.tokens(session.account).read("refresh", as: String.self, with: "a test")
                }
                let first = try await sealed()
                // The client ends between reply and store.
                world.relay.script("POST", "/v1/token", .loseAnswer)
                await #expect(throws: TouchstoneError(.unreachable)) { try await login.resume("Go on") }
                world.relay.passAll()
                #expect(try await sealed() == first)
                let resumed = try await login.resume("Go on")
                let second = try await sealed()
                #expect(second != first)
                _ = try await login.resume("Go on")
                let third = try await sealed()
                #expect(Set([first, second, third]).count == 3)
                // The successors of the first were used: whoever has it copied both it and the key.
                let proofKey = await session.proofKey
                let copied = await failure { () async throws(TouchstoneError) in
                    try await login.refresh(first, proofKey)
                }
                #expect(copied?.isEndOfSession == true, "\(copied as Any)")
                let next = await failure { () async throws(TouchstoneError) in try await login.resume("No") }
                #expect(next?.isEndOfSession == true, "\(next as Any)")
                let running = await failure { () async throws(TouchstoneError) in
                    try await resumed.devices()
                }
                #expect(running?.isEndOfSession == true, "\(running as Any)")
                #expect(try await login.signIn("The key signs in").user == "anna")
                #expect(try await login.resume("Go on").user == "anna")
            }
        }

        @Test("concurrent renewals and tokens for services show each refresh token once")
        func concurrent() async throws {
            let world = try await LoginWorld(settings: ["access-token-lifetime": "10"])
            try await world.keychain.use {
                let session = try await world.session(world.login())
                try await withThrowingTaskGroup(of: Void.self) { group in
                    for _ in 0..<4 {
                        for _ in 0..<4 { group.addTask { _ = try await session.accessToken() } }
                        try await group.waitForAll()
                    }
                }
                let shown = world.relay.exchanges.filter {
                    $0.path == "/v1/token" && $0.answer?.contains("access_token") == true
                }.map(\.body)
                #expect(shown.count >= 4 && Set(shown).count == shown.count)
            }
        }
    }
}
