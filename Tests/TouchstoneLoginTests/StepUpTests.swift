import Foundation
import Testing
import Touchstone
import TouchstoneTesting
import WebAuthnModel

@testable import TouchstoneLogin

extension TenStepsTests {
    @Suite("Step-up and transactions")
    struct StrongerTests {
        @Test(
            "a step-up renews the session's authentication, or reports what the device cannot give"
        )
        func stepUp() async throws {
            let world = try await LoginWorld(settings: ["freshness": "30"])
            try await world.keychain.use {
                let login = world.login()
                let session = try await Deadline.wait(
                    for: "a set-up that is fresh to its end",
                    atMost: .seconds(240)
                ) {
                    try? await world.setUp(login).0
                }
                let nobody = LoginDevice(id: "AAAA", label: "", lastUsed: nil, isThisDevice: false)
                // The authentication becomes too old, and the server's challenge leads to the step-up.
                let demand = try await Deadline.wait(for: "a refusal") {
                    () async throws -> TouchstoneError? in
                    let error = await failure { () async throws(TouchstoneError) in
                        try await session.remove(nobody)
                    }
                    if error?.code != .stepUpNeeded { try await Task.sleep(for: .milliseconds(200)) }
                    return error?.code == .stepUpNeeded ? error : nil
                }
                let header = try #require(demand.cause)
                #expect(header.contains("max_age=30"), "\(header)")
                try await Deadline.wait(for: "a request that is fresh enough") {
                    let before = world.keychain.prompts.count
                    let assurance = try await session.stepUp(for: header, "Confirm that it is you")
                    #expect(assurance.facts == [.keyBound, .perUse, .currentSet])
                    #expect(world.keychain.prompts.count == before + 1)
                    let error = await failure { () async throws(TouchstoneError) in
                        try await session.remove(nobody)
                    }
                    return error?.code == .notFound ? true : nil
                }
                // A level that this device cannot reach: a software key is not hardware.
                let strong = "Bearer error=\"insufficient_user_authentication\", acr_values=\"phrh\""
                let refused = await failure { () async throws(TouchstoneError) in
                    try await session.stepUp(for: strong, "Confirm")
                }
                #expect(
                    refused?.code == .stepUpNeeded && refused?.details.first == "wanted: phrh",
                    "\(refused as Any)"
                )
                try await session.stepUp(for: strong.replacing("phrh", with: "pwd phr"), "Confirm")
                // The session continues with the new tokens, which are sealed.
                #expect(try await session.devices().count == 1)
                _ = try await login.resume("Go on")
                let before = world.keychain.prompts.count
                await #expect(throws: TouchstoneError(.limitExceeded)) {
                    try await session.stepUp(for: "Bearer error=\"invalid_token\"", "No")
                }
                #expect(world.keychain.prompts.count == before)
            }
        }

        @Test("a step-up by password renews the authentication where the challenge allows it")
        func stepUpByPassword() async throws {
            let world = try await LoginWorld(settings: ["freshness": "5"])
            try await world.keychain.use {
                let session = try await world.session(world.login())
                let nobody = LoginDevice(id: "AAAA", label: "", lastUsed: nil, isThisDevice: false)
                func refusal() async throws -> TouchstoneError {
                    try await Deadline.wait(for: "a refusal") { () async throws -> TouchstoneError? in
                        let error = await failure { () async throws(TouchstoneError) in
                            try await session.remove(nobody)
                        }
                        if error?.code != .stepUpNeeded { try await Task.sleep(for: .milliseconds(200)) }
                        return error?.code == .stepUpNeeded ? error : nil
                    }
                }
                let header = try #require(try await refusal().cause)
                let before = try await session.accessToken()
                // Five seconds are short on a slow machine; one of several attempts must be in time.
                try await Deadline.wait(for: "a request that is fresh enough") {
                    let assurance = try await session.stepUp(for: header, password: SignInServer.password)
                    #expect(assurance.level <= .low && assurance.facts.isEmpty)
                    let error = await failure { () async throws(TouchstoneError) in
                        try await session.remove(nobody)
                    }
                    return error?.code == .notFound ? true : nil
                }
                #expect(world.keychain.prompts.isEmpty)
                let after = try await session.accessToken()
                #expect(after != before)
                // The same session: no second one was opened.
                let me = try world.call("GET", "/v1/me", after)
                #expect(me["sessions"]?.integer == 1, "\(me)")
                #expect(me["acr"]?.string == "pwd", "\(me)")
                // A level that a password cannot reach is refused without a request.
                let count = world.relay.exchanges.count
                let strong = "Bearer error=\"insufficient_user_authentication\", acr_values=\"phr\""
                let refused = await failure { () async throws(TouchstoneError) in
                    try await session.stepUp(for: strong, password: SignInServer.password)
                }
                #expect(
                    refused?.code == .stepUpNeeded && refused?.details == ["wanted: phr", "this gives: pwd"],
                    "\(refused as Any)"
                )
                await #expect(throws: TouchstoneError(.limitExceeded)) {
                    try await session.stepUp(
                        for: "Bearer error=\"invalid_token\"",
                        password: SignInServer.password
                    )
                }
                #expect(world.relay.exchanges.count == count)
                // Last, because the server delays the third attempt, and says for how long; on a busy machine the delay may be
                // over before it comes.
                var attempts = 0
                var wrong: TouchstoneError?
                repeat {
                    wrong = await failure { () async throws(TouchstoneError) in
                        try await session.stepUp(for: header, password: "not \(SignInServer.password)")
                    }
                    attempts += 1
                    if attempts <= 2 { #expect(wrong == .wrongPassword && wrong?.nextStep == .retry) }
                } while wrong == .wrongPassword && attempts < 30
                #expect(wrong == .throttled && wrong?.nextStep == .wait, "\(wrong as Any)")
                #expect(wrong?.retryAfter ?? .zero >= .seconds(1))
                // The session continues with its tokens.
                #expect(try await session.accessToken() == after)
            }
        }

        private func create(_ world: LoginWorld, _ access: String, _ details: JSONValue) throws -> String {
            let made = try world.call(
                "POST",
                "/v1/transactions",
                access,
                ["type": "payment", "details": details, "expiresIn": 600]
            )
            return try #require(made["id"]?.string, "\(made)")
        }

        @Test("exactly what the user sees is signed")
        func transaction() async throws {
            let world = try await LoginWorld()
            let keychain = world.keychain
            try await keychain.use {
                let (session, device) = try await world.setUp(world.login())
                let access = try await session.accessToken()
                let payment: JSONValue = [
                    "amount": "12.30", "currency": "EUR", "payee": ["name": "Alice", "accounts": ["X", 7]],
                ]
                let id = try create(world, access, payment)
                let waiting = try await session.transaction(id)
                #expect(
                    waiting.details == [
                        "amount": "12.30", "currency": "EUR", "payee.name": "Alice", "payee.accounts.1": "X",
                        "payee.accounts.2": "7",
                    ]
                )
                #expect(waiting.expires > Date())

                // The challenge covers the details: for another amount no prompt is shown.
                let before = keychain.prompts.count
                world.relay.script(
                    "GET",
                    "/v1/transactions/\(id)",
                    .change { $0.replacing("12.30", with: "2.30") }
                )
                let changed = await failure { () async throws(TouchstoneError) in
                    try await session.transaction(id)
                }
                #expect(changed?.code == .badReply && changed?.details.first?.hasPrefix("challenge") == true)
                world.relay.passAll()
                keychain.person(.cancels)
                await #expect(throws: TouchstoneError(.userCancelled)) { try await waiting.approve("Pay") }
                world.relay.script(
                    "POST",
                    "/v1/transactions/\(id)/approval",
                    .answer(401, [:], #"{"code":"authentication_failed"}"#)
                )
                await #expect(throws: TouchstoneError.signatureRefused) { try await waiting.approve("Pay") }
                world.relay.passAll()
                let receipt = try await waiting.approve("Pay")
                #expect(keychain.prompts.count == before + 3)
                #expect(keychain.prompts.last?.reason == "Pay")
                #expect(
                    keychain.prompts.last?.items == [
                        "amount: 12.30", "currency: EUR", "payee.accounts.1: X", "payee.accounts.2: 7",
                        "payee.name: Alice",
                    ]
                )
                let told = try #require(try JSONValue(parsing: Array(receipt)).object)
                #expect(told["transactionId"]?.string == id && told["credentialId"]?.string == device.id)
                #expect(
                    try world.call("GET", "/v1/transactions/\(id)", access)["status"]?.string == "approved"
                )
                let again = await failure { () async throws(TouchstoneError) in
                    try await waiting.approve("Pay")
                }
                #expect(
                    again?.code == .refused && again?.cause == "transaction_not_pending",
                    "\(again as Any)"
                )
                await #expect(throws: TouchstoneError(.refused)) { try await session.transaction(id) }
                await #expect(throws: TouchstoneError(.notFound)) { try await session.transaction("AAAA") }
                await #expect(throws: TouchstoneError(.notFound)) { try await session.transaction("../me") }

                let second = try await session.transaction(try create(world, access, payment))
                try await second.reject()
                await #expect(throws: TouchstoneError(.refused)) { try await second.approve("Pay") }
            }
        }

        @Test(
            "details that a prompt cannot show whole are not signed",
            arguments: [
                String(repeating: "x", count: 300), "Alice\u{202E}ecilA", "Ali\u{200B}ce",
                "A\nRequested by B",
                String(repeating: "漢", count: 150),
            ]
        )
        func unshown(value: String) async throws {
            let world = try await LoginWorld()
            try await world.keychain.use {
                let (session, _) = try await world.setUp(world.login())
                let prompts = world.keychain.prompts.count
                let id = try create(world, try await session.accessToken(), ["payee": .string(value)])
                let waiting = try await session.transaction(id)
                let error = await failure { () async throws(TouchstoneError) in
                    try await waiting.approve("Pay")
                }
                #expect(error?.code == .limitExceeded, "\(error as Any)")
                #expect(world.keychain.prompts.count == prompts)
            }
        }
    }
}
