import Foundation
import HTTPTypes
import NIOHTTP1
import RelyingParty
import Testing
import WebAuthnModel

@testable import TouchstoneServer

extension ServerTests {
    @Suite("Account page: transactions")
    struct PageTransactionTests {
        private static let payment: JSONValue = [
            "payee": "Dora", "amount": "12.30", "currency": "EUR",
            "items": [["name": "\u{202E}Book", "count": 2]],
        ]

        private func ask(_ user: TestUser) async throws -> String {
            let made = try await user.server.call(
                .POST,
                "/v1/transactions",
                ["type": "payment", "details": Self.payment, "username": .string(user.name)],
                token: TestServer.serviceSecret
            )
            return try #require(made["id"]?.string, "\(made.text)")
        }

        private func status(_ user: TestUser, _ id: String) async throws -> String? {
            try await user.server.call(
                .GET,
                "/v1/transactions/\(id)",
                token: TestServer.serviceSecret
            )["status"]?.string
        }

        @Test("the signature is over the details shown")
        func approval() async throws {
            try await TestServer.with { server in
                let user = try await TestUser.make(on: server)
                try await Browser.with(server) { page in
                    try await page.addAuthenticator()
                    try await page.signIn(user)
                    try await page.addPasskey()
                    let id = try await ask(user)
                    // It appears without a reload.
                    let card = "#transaction-list > li"
                    try await page.wait("document.querySelectorAll('\(card)').length === 1")
                    let text = try #require(
                        try await page.value("document.querySelector('\(card) .details').innerText").string
                    )
                    for word in ["Payee", "Dora", "Amount", "12.30", "EUR", "[U+202E]Book", "2"] {
                        #expect(text.contains(word), "\(word) in \(text)")
                    }
                    try await page.click("\(card) summary")
                    let canonical = try #require(
                        try await page.value("document.querySelector('.canonical').textContent").string
                    )
                    #expect(
                        try JSONValue(parsing: Array(canonical.utf8))
                            == JSONValue(parsing: CanonicalJSON.encode(Self.payment))
                    )
                    try await page.click("\(card) .approve")
                    try await page.expectNotice("Payment was approved.")
                    #expect(try await status(user, id) == "approved")
                    let evidence = try await server.call(
                        .GET,
                        "/v1/transactions/\(id)/evidence",
                        token: TestServer.serviceSecret
                    )
                    let clientData = try CollectedClientData(
                        parsing: try #require(evidence["clientDataJSON"]?.bytes)
                    )
                    #expect(
                        clientData.challenge
                            == (try TransactionChallenge.challenge(
                                details: try #require(Self.payment.object),
                                nonce: try #require(evidence["nonce"]?.bytes)
                            ))
                    )
                    try await page.wait("!document.querySelector('#transactions').checkVisibility()")
                    // A link opens a single transaction; it can be rejected.
                    let second = try await ask(user)
                    try await page.open("http://localhost:8080/#transaction=\(second)")
                    try await page.send("Page.reload")
                    try await page.wait("document.activeElement.matches('.transaction-type')")
                    try await page.click("\(card) .reject")
                    try await page.expectNotice("Payment was rejected.")
                    #expect(try await status(user, second) == "rejected")
                    try await page.value("location.hash = '#transaction=\(second)'")
                    try await page.send("Page.reload")
                    try await page.expectNotice("You rejected this already.")
                }
            }
        }

        @Test("a forged signature approves nothing, and altered details are never sent for signing")
        func refusedApproval() async throws {
            try await TestServer.with { server in
                let user = try await TestUser.make(on: server)
                try await Browser.with(server) { page in
                    let authenticator = try await page.addAuthenticator()
                    try await page.signIn(user)
                    try await page.addPasskey()
                    let id = try await ask(user)
                    let card = "#transaction-list > li"
                    try await page.open()
                    try await page.wait("document.querySelectorAll('\(card)').length === 1")
                    try await page.send(
                        "WebAuthn.setUserVerified",
                        ["authenticatorId": .string(authenticator), "isUserVerified": false]
                    )
                    try await page.click("\(card) .approve")
                    let error = "document.querySelector('.transaction-error').textContent"
                    try await page.wait("\(error).includes('cancelled')")
                    #expect(try await status(user, id) == "pending")
                    try await page.send(
                        "WebAuthn.setUserVerified",
                        ["authenticatorId": .string(authenticator), "isUserVerified": true]
                    )
                    // An attacker between server and page alters the details.
                    try await page.send(
                        "Fetch.enable",
                        ["patterns": [["urlPattern": "*/v1/transactions", "requestStage": "Response"]]]
                    )
                    try await page.send("Page.reload")
                    let held = try await page.heldRequest()
                    let request = try #require(held["requestId"])
                    let answer = try await page.send("Fetch.getResponseBody", ["requestId": request])
                    let body = try #require(answer["body"]?.string)
                    let plain =
                        answer["base64Encoded"] == true
                        ? String(decoding: Data(base64Encoded: body) ?? Data(), as: UTF8.self) : body
                    let forged = plain.replacing("12.30", with: "99.30")
                    #expect(forged != plain)
                    try await page.send(
                        "Fetch.fulfillRequest",
                        [
                            "requestId": request, "responseCode": 200,
                            "responseHeaders": [["name": "Content-Type", "value": "application/json"]],
                            "body": .string(Data(forged.utf8).base64EncodedString()),
                        ]
                    )
                    try await page.send("Fetch.disable")
                    try await page.wait(
                        "document.querySelector('\(card) .details')?.innerText.includes('99.30')"
                    )
                    try await page.click("\(card) .approve")
                    try await page.wait("\(error).includes('not what is shown here')")
                    #expect(try await status(user, id) == "pending")
                }
            }
        }
    }
}
