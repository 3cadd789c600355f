import Foundation
import LoopbackHTTP
import Testing
import Touchstone
import TouchstoneTesting
import WebAuthnDevice
import WebAuthnModel

@testable import TouchstoneLogin

extension TenStepsTests {
    @Suite("Accounts of one server on one device")
    struct AccountsTests {
        @Test("two people on one desktop sign in and out without touching the other's key")
        func twoPeople() async throws {
            let world = try await LoginWorld()
            try world.addUser("berta")
            try await world.keychain.use {
                let login = world.login()
                #expect(try await login.accounts().isEmpty)
                let (annas, laptop) = try await world.setUp(login)
                // With one account no choice is needed.
                #expect(try await login.signIn("Sign in").account == annas.account)
                let (bertas, other) = try await world.setUp(login, as: "berta")
                #expect(annas.account != bertas.account && laptop.id != other.id)
                let found = try await world.login().accounts()
                #expect(found.map(\.id) == [annas.account, bertas.account])
                #expect(found.map(\.user) == ["anna", "berta"] && found.map(\.device) == [laptop, other])
                #expect(found.filter(\.isUsable) == found)

                // Without a choice nothing happens.
                let before = world.keychain.prompts.count
                let refused = [
                    await failure { () async throws(TouchstoneError) in try await login.state("No") },
                    await failure { () async throws(TouchstoneError) in try await login.signIn("No") },
                    await failure { () async throws(TouchstoneError) in try await login.resume("No") },
                    await failure { () async throws(TouchstoneError) in try await login.forgetDevice() },
                ]
                #expect(refused.map { $0?.code } == Array(repeating: .limitExceeded, count: 4))
                #expect(refused.map { $0?.cause } == Array(repeating: "severalAccounts", count: 4))
                #expect(world.keychain.prompts.count == before)

                let (anna, berta) = (login.account(annas.account), login.account(bertas.account))
                #expect(try await anna.state() == .ready(laptop))
                #expect(try await berta.state() == .ready(other))
                for (client, user) in [(anna, "anna"), (berta, "berta")] {
                    let session = try await client.signIn("Sign in")
                    #expect(session.user == user)
                    #expect(try await session.devices().filter(\.isThisDevice).count == 1)
                    #expect(try await client.resume("Go on").user == user)
                }
                // Neither is offered what the other set up, and a choice does not matter for the password.
                #expect(try await world.session(berta).offer() == nil)

                // One signs out: the other's session goes on.
                try await berta.resume("Go on").signOut(everywhere: true)
                await #expect(throws: TouchstoneError(.notFound)) { try await berta.resume("No") }
                #expect(try await anna.resume("Go on").user == "anna")
                #expect(try await annas.devices().map(\.id) == [laptop.id])

                // One's device ends: the other's key, record and token stay.
                let keys = (
                    try await world.credentialKey(login, of: annas.account),
                    try await world.credentialKey(login, of: bertas.account)
                )
                try await berta.forgetDevice()
                #expect(try await world.refusal(of: keys.0) == nil)
                #expect(try await world.refusal(of: keys.1) == .deleted)
                #expect(try await berta.state() == .signedOut)
                await #expect(throws: TouchstoneError(.notFound)) { try await berta.signIn("No") }
                #expect(try await login.accounts().map(\.user) == ["anna"])
                #expect(try await login.state() == .ready(laptop), "the only one again")
                #expect(try await login.resume("Go on").user == "anna")
                #expect(try await login.account("AAAA").state() == .signedOut)
            }
        }

        @Test(
            "a session of one person removes that person's device alone, and tokens may be under different rules"
        )
        func removal() async throws {
            let world = try await LoginWorld()
            try world.addUser("berta")
            try await world.keychain.use {
                let (annas, _) = try await world.setUp(world.login(.biometryOrPasscode))
                let (bertas, other) = try await world.setUp(world.login(.biometry), as: "berta")
                let anna = world.login(.biometryOrPasscode).account(annas.account)
                #expect(try await anna.resume("Go on").user == "anna")
                await #expect(throws: TouchstoneError(.ruleMismatch)) {
                    try await world.login(.biometry).account(annas.account).signIn("No")
                }
                try await bertas.remove(other)
                #expect(try await world.login().accounts().map(\.user) == ["anna"])
                #expect(try await anna.resume("Go on").user == "anna")
                #expect(try await anna.signIn("Sign in").user == "anna")
            }
        }

        @Test("an account whose name changed is the same account")
        func renamed() async throws {
            let world = try await LoginWorld()
            try await world.keychain.use {
                let login = world.login()
                let (session, device) = try await world.setUp(login)
                _ = try world.administer("PATCH", "/users/\(session.account)", ["username": "annabel"])
                #expect(try await login.signIn("Sign in").account == session.account)
                #expect(try await login.accounts().map(\.user) == ["anna"], "as far as this device knows")
                let renamed = try await login.signIn(user: "annabel", password: SignInServer.password)
                #expect(renamed.account == session.account)
                #expect(try await renamed.offer() == nil, "it is set up already")
                let found = try await login.accounts()
                #expect(found.map(\.user) == ["annabel"] && found.map(\.device) == [device])
                #expect(found.filter(\.isUsable) == found)
                #expect(try await login.signIn("Sign in").user == "annabel")
                // The token of the session that was not opened with the device's session key was not sealed for it.
                #expect(try await login.resume("Go on").account == session.account)
                // Another account of the former name is another one.
                try world.addUser("anna")
                let (other, _) = try await world.setUp(login, as: "anna")
                #expect(other.account != session.account)
                #expect(try await login.accounts().map(\.user) == ["anna", "annabel"])
                #expect(try await login.account(session.account).state() == .ready(device))
            }
        }

        @Test("with a locked keychain the accounts are listed after one passcode, or not at all")
        func locked() async throws {
            let world = try await LoginWorld()
            try world.addUser("berta")
            try await world.keychain.use {
                let login = world.login()
                let (annas, _) = try await world.setUp(login)
                _ = try await world.setUp(login, as: "berta")
                for fault in [TestFault.lock, .daemonCrash] {
                    try await world.keychain.cause(fault)
                    await #expect(throws: TouchstoneError(.locked)) { try await login.accounts() }
                    await #expect(throws: TouchstoneError(.locked)) { try await login.forgetDevice() }
                    #expect(try await login.state() == .locked)
                    let before = world.keychain.prompts.count
                    #expect(try await login.accounts("Sign in").map(\.user) == ["anna", "berta"])
                    #expect(world.keychain.prompts.count == before + 1)
                    #expect(try await login.account(annas.account).signIn("Sign in").user == "anna")
                }
            }
        }

        @Test("one more account than the limit is an error, and changes nothing")
        func limit() async throws {
            let world = try await LoginWorld()
            try world.addUser("berta")
            try await world.keychain.use {
                let login = world.login()
                let (annas, laptop) = try await world.setUp(login)
                let record = try #require(try await login.store.find(annas.account, .silent))
                let handle = try #require(Base64URL.decode(annas.account))
                let place = try #require(record.credential.range(of: Data(handle)))
                var ids: [String] = []
                for number in 1..<DeviceStore.mostAccounts {
                    var (credential, other) = (record.credential, handle)
                    (other[0], other[1]) = (UInt8(number), ~handle[1])
                    credential.replaceSubrange(place, with: other)
                    let copy = DeviceRecord(
                        user: "user \(number)",
                        label: record.label,
                        rule: record.rule,
                        id: Data(other),
                        credential: credential,
                        proofKey: record.proofKey
                    )
                    ids.append(try copy.account)
                    try await world.records.write(copy, for: DeviceStore.key(of: try copy.account))
                }
                #expect(try await login.accounts().count == DeviceStore.mostAccounts)
                let session = try await login.signIn(user: "berta", password: SignInServer.password)
                let offer = try #require(try await session.offer())
                let (prompts, requests) = (world.keychain.prompts.count, world.relay.exchanges.count)
                let refused = await failure { () async throws(TouchstoneError) in
                    try await offer.accept(label: "One too many", "No")
                }
                #expect(refused?.code == .limitExceeded && refused?.details.first?.contains("32") == true)
                #expect(world.keychain.prompts.count == prompts && world.relay.exchanges.count == requests)
                #expect(try await login.accounts().count == DeviceStore.mostAccounts)
                // An account that is there already can be set up again, and a place can be made.
                try await world.records.delete(DeviceStore.key(of: try #require(ids.first)))
                _ = try await offer.accept(label: "The last", "Yes")
                #expect(try await login.account(annas.account).state() == .ready(laptop))
            }
        }

        @Test("a record that cannot be read is an error until it is deleted, and the other accounts stay")
        func damaged() async throws {
            let world = try await LoginWorld()
            try await world.keychain.use {
                let login = world.login()
                let (annas, laptop) = try await world.setUp(login)
                for key in [DeviceStore.key(of: "AAAA"), DeviceStore.device] {
                    try await world.records.write("no record", for: key)
                    await #expect(throws: TouchstoneError(.damaged)) { try await login.accounts() }
                    await #expect(throws: TouchstoneError(.damaged)) { try await login.state() }
                    #expect(try await login.account(annas.account).state() == .ready(laptop))
                    try await login.forgetDevice()
                    #expect(try await login.state() == .ready(laptop), "\(key)")
                }
                #expect(try await login.signIn("Sign in").user == "anna")
            }
        }

        // MARK: The version before accounts

        /// Sets the device up as the version before accounts stored it: one record and one token for a server.
        private func setUpBefore(_ world: LoginWorld, _ login: LoginClient) async throws -> DeviceRecord {
            let session = try await world.session(login)
            let begun = try await session.call(
                "POST",
                "/v1/credentials/options",
                ["kind": "device", "label": "Laptop"],
                isBound: true
            )
            let ceremony = try Ceremony(begun, from: login.api)
            let made = try await login.keys.register(
                CreationOptions(parsing: ceremony.publicKey),
                login.rule,
                label: "Laptop",
                certificates: [],
                "Sign in by finger from now on"
            )
            _ = try await session.call(
                "POST",
                "/v1/credentials",
                ["ceremonyId": .string(ceremony.id), "credential": made.response, "label": "Laptop"],
                isBound: true
            )
            let record = DeviceRecord(
                user: session.user,
                label: "Laptop",
                rule: login.rule.description,
                id: made.id,
                credential: made.credential,
                proofKey: await session.proofKey
            )
            let key = try DeviceKeys.representation(of: made.credential)
            try await world.records.replaceUnread(record, for: "device", keys: [key])
            let token = try #require(await session.refreshToken)
            try await world.tokens(nil, login.rule).replaceUnread(token, for: "refresh")
            return record
        }

        @Test("what the former version stored is the account's whose it is, beside a second person's")
        func formerRecord() async throws {
            let world = try await LoginWorld()
            try world.addUser("berta")
            try await world.keychain.use {
                let login = world.login()
                let record = try await setUpBefore(world, login)
                let account = try record.account
                #expect(try await login.accounts().map(\.id) == [account])
                #expect(try await login.state() == .ready(record.device))
                #expect(try await login.account(account).state() == .ready(record.device))
                // The token moves to the account's own place when it is replaced.
                #expect(try await login.resume("Go on").account == account)
                #expect(try await world.tokens(nil).status().isEmpty)
                #expect(try await login.resume("Go on").account == account)
                #expect(try await world.session(login).offer() == nil)

                let (bertas, _) = try await world.setUp(login, as: "berta")
                #expect(try await login.accounts().map(\.user) == ["anna", "berta"])
                #expect(Set(try await world.records.status().keys).contains("device"))
                try await login.account(bertas.account).forgetDevice()
                #expect(try await login.signIn("Sign in").account == account)

                let key = try await world.credentialKey(login)
                try await login.forgetDevice()
                #expect(try await world.refusal(of: key) == .deleted)
                #expect(try await login.state() == .signedOut)
                #expect(try await login.accounts().isEmpty)
            }
        }

        @Test(
            "the next set-up makes a record of the account's own, and an interruption leaves the old or the new"
        )
        func formerRecordReplaced() async throws {
            let world = try await LoginWorld()
            try await world.keychain.use {
                let login = world.login()
                let record = try await setUpBefore(world, login)
                let key = try await world.credentialKey(login)
                let other = world.login(.biometryOrPasscode)
                let session = try await world.session(other)
                let offer = try #require(try await session.offer())
                #expect(offer.replaces == record.device)
                // Interrupted before it is stored.
                world.relay.script("POST", "/v1/credentials", .cut)
                await #expect(throws: TouchstoneError(.unreachable)) {
                    try await offer.accept(label: "Laptop", "Again")
                }
                world.relay.passAll()
                #expect(try await login.state() == .ready(record.device))
                #expect(try await login.signIn("Sign in").user == "anna")
                try await Deadline.wait(for: "nothing to report") {
                    try await world.kept(login).contains("forgotten") ? nil : true
                }
                // Interrupted after the account's own record was stored, before the former one was deleted.
                let new = try await offer.accept(label: "Laptop", "Again")
                #expect(try await world.refusal(of: key) == .deleted)
                #expect(Set(try await world.records.status().keys) == [DeviceStore.key(of: session.account)])
                try await world.records.replaceUnread(record, for: "device")
                try await world.tokens(nil, other.rule).replaceUnread("an old token", for: "refresh")
                #expect(try await other.accounts().map(\.device) == [new])
                #expect(try await other.signIn("Sign in").user == "anna")
                #expect(try await world.tokens(nil, other.rule).status().isEmpty)
                #expect(Set(try await world.records.status().keys) == [DeviceStore.key(of: session.account)])
                #expect(try await other.resume("Go on").user == "anna")
            }
        }
    }
}
