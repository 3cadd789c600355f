import Foundation
import HTTPTypes
import NIOHTTP1
import RelyingParty
import Testing
import WebAuthnModel

@testable import TouchstoneServer

extension ServerTests {
    @Suite("The page for an account, in Chromium")
    struct PageTests {
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

        @Test(
            "a wrong password is told; the right one signs in; no script sees a token; nothing is loaded from elsewhere"
        )
        func password() async throws {
            try await TestServer.with { server in
                let user = try await TestUser.make(on: server)
                try await Browser.with(server) { page in
                    try await page.open()
                    try await page.wait(Browser.signInIsShown)
                    try await page.wait("document.activeElement.id === 'username'")
                    try await page.click("#sign-in-form .primary")
                    try await page.wait(
                        "document.querySelector('#sign-in-error').textContent === 'Enter your user name.'"
                    )
                    try await page.fill("#username", user.name)
                    try await page.fill("#password", "wrong wrong")
                    try await page.click("#sign-in-form .primary")
                    try await page.wait(
                        "document.querySelector('#sign-in-error').textContent.includes('do not go together')"
                    )
                    // The focus is where to go on, and the field says why.
                    try await page.wait("document.activeElement.id === 'password'")
                    #expect(
                        try await page.value("document.activeElement.getAttribute('aria-invalid')") == "true"
                    )
                    #expect(
                        try await page.value("document.activeElement.getAttribute('aria-describedby')")
                            == "sign-in-error"
                    )
                    // After a failure there is a wait of a second.
                    try await page.wait(
                        """
                        (async () => (await fetch("/v1/login/password", { method: "POST",
                            headers: { "Content-Type": "application/json" }, body: JSON.stringify({
                            username: "\(user.name)", password: "\(TestUser.password)" }) })).ok)()
                        """
                    )
                    try await page.fill("#password", TestUser.password)
                    try await page.click("#sign-in-form .primary")
                    try await page.wait(Browser.accountIsShown)
                    #expect(try await page.value("document.title") == "Your account – Touchstone")
                    #expect(try await page.value("document.cookie") == "")
                    #expect(
                        try await page.value("JSON.stringify([localStorage, sessionStorage])").string?
                            .contains("ts_") == false
                    )
                    let cookies = try await page.cookies()
                    #expect(cookies.count == 2)
                    #expect(cookies.allSatisfy { $0["httpOnly"] == true && $0["sameSite"] == "Strict" })
                    // A visit later begins where this one ended, by the cookies alone.
                    try await page.open()
                    try await page.wait(Browser.accountIsShown)
                    try await page.click("#sign-out")
                    try await page.wait(Browser.signInIsShown)
                    try await page.expectNotice("You are signed out.")
                    #expect(try await page.cookies() == [])
                    #expect(
                        try await page.value("document.querySelector('#credential-list').children.length")
                            == 0
                    )
                    #expect(await page.requests.allSatisfy { $0.hasPrefix("http://localhost:8080/") })
                    #expect(await page.requests.count > 15)
                }
            }
        }

        @Test("a passkey is added, signs in, is renamed and removed")
        func passkey() async throws {
            try await TestServer.with { server in
                let user = try await TestUser.make(on: server)
                try await Browser.with(server) { page in
                    let authenticator = try await page.addAuthenticator()
                    try await page.signIn(user)
                    try await page.wait("document.querySelector('#no-credentials').checkVisibility()")
                    try await page.addPasskey()
                    try await page.expectNotice("The passkey was added.")
                    try await page.wait("document.activeElement.matches('#credential-list .rename')")
                    // Without somebody who touches it, the passkey behind the field for the name waits.
                    try await page.setPresence(false, of: authenticator)
                    try await page.click("#sign-out")
                    try await page.wait(Browser.signInIsShown)
                    try await page.click("#passkey-sign-in")
                    try await page.setPresence(true, of: authenticator)
                    try await page.wait(Browser.accountIsShown)
                    try await page.wait(
                        "document.querySelector('#session-list').innerText.includes('Signed in with a passkey')"
                    )
                    let used = "document.querySelector('#credential-list .used').textContent"
                    try await page.wait("\(used).startsWith('Last used just now')")
                    // A name that nobody can have is asked for again; markup is text.
                    try await page.click("#credential-list .rename")
                    try await page.fill("#rename-name", "  ")
                    try await page.click("#rename-save")
                    try await page.wait(
                        "document.querySelector('#rename-error').textContent === 'Enter a name.'"
                    )
                    try await page.fill("#rename-name", "<img src=x> Laptop")
                    try await page.click("#rename-save")
                    try await page.expectNotice("Renamed.")
                    let label = "document.querySelector('#credential-list .row-title').textContent"
                    #expect(try await page.value(label) == "<img src=x> Laptop")
                    #expect(
                        try await page.value("document.activeElement.getAttribute('aria-label')")
                            == "Rename <img src=x> Laptop"
                    )
                    // Removed only when somebody is sure.
                    try await page.click("#credential-list .remove")
                    try await page.wait("document.querySelector('#confirm').open")
                    try await page.press(.escape)
                    try await page.wait("!document.querySelector('#confirm').open")
                    try await page.click("#credential-list .remove")
                    try await page.click("#confirm-yes")
                    try await page.wait("document.querySelector('#credential-list').children.length === 0")
                    try await page.wait("document.activeElement.id === 'credentials-title'")
                    #expect(
                        try await server.admin(.GET, "/users/\(user.id)/credentials")["credentials"] == []
                    )
                    // The page keeps the session that removed it, and the passkey signs nobody in.
                    try await page.setPresence(false, of: authenticator)
                    try await page.click("#sign-out")
                    try await page.wait(Browser.signInIsShown)
                    try await page.setPresence(true, of: authenticator)
                    try await page.click("#passkey-sign-in")
                    try await page.wait("document.querySelector('#sign-in-error').textContent.length > 20")
                    #expect(try await page.value(Browser.accountIsShown) == false)
                }
            }
        }

        @Test("the browser's own suggestion of a passkey signs in without a name and without a button")
        func suggestion() async throws {
            try await TestServer.with { server in
                let user = try await TestUser.make(on: server)
                try await Browser.with(server) { page in
                    try await page.addAuthenticator()
                    try await page.signIn(user)
                    try await page.addPasskey()
                    try await page.click("#sign-out")
                    // A browser without a window chooses for its user.
                    try await page.wait(
                        "document.querySelector('#session-list').innerText.includes('Signed in with a passkey')"
                    )
                }
            }
        }

        @Test("a session is signed out from elsewhere, and from here")
        func sessions() async throws {
            try await TestServer.with { server in
                let user = try await TestUser.make(on: server)
                var others: [TestUser] = []
                for client in ["Phone", "Tablet", "Laptop"] {
                    var other = user
                    try other.take(
                        try await server.call(
                            .POST,
                            "/v1/login/password",
                            [
                                "username": .string(user.name), "password": .string(TestUser.password),
                                "client": .string(client),
                            ]
                        )
                    )
                    others.append(other)
                }
                try await Browser.with(server) { page in
                    try await page.signIn(user)
                    let rows = "document.querySelectorAll('#session-list > li')"
                    try await page.wait("\(rows).length === 4")
                    #expect(try await page.value("\(rows)[0].innerText.includes('This browser')") == true)
                    #expect(try await page.value("\(rows)[0].querySelector('button') === null") == true)
                    #expect(try await others[0].call(.GET, "/v1/me").status == 200)
                    try await page.click("#session-list [aria-label=\"Sign out Phone\"]")
                    try await page.click("#confirm-yes")
                    try await page.wait("\(rows).length === 3")
                    #expect(try await others[0].call(.GET, "/v1/me").status == 401)
                    #expect(try await others[0].renew().code == "invalid_grant")
                    #expect(try await others[1].call(.GET, "/v1/me").status == 200)
                    try await page.click("#end-others")
                    try await page.click("#confirm-yes")
                    try await page.wait("\(rows).length === 1")
                    try await page.wait("!document.querySelector('#end-others').checkVisibility()")
                    for other in others { #expect(try await other.call(.GET, "/v1/me").status == 401) }
                    // Now this one is ended by somebody else.
                    #expect(try await server.admin(.DELETE, "/users/\(user.id)/sessions").status == 200)
                    try await page.click("#change-password")
                    try await page.fill("#current-password", TestUser.password)
                    try await page.fill("#next-password", "an entirely new one 5")
                    try await page.click("#new-password-form .primary")
                    try await page.wait(
                        "document.querySelector('#new-password-error').textContent.includes('signed out')"
                    )
                    try await page.click("#new-password-cancel")
                    try await page.open()
                    try await page.wait(Browser.signInIsShown)
                }
            }
        }

        @Test("the session goes on when the access cookie is over, and ends when the other one is")
        func renewal() async throws {
            try await TestServer.with { server in
                let user = try await TestUser.make(on: server)
                try await Browser.with(server) { page in
                    try await page.signIn(user)
                    let former = try await page.cookies()
                    try await page.send(
                        "Network.deleteCookies",
                        ["name": "touchstone-access", "url": "http://localhost:8080/"]
                    )
                    try await page.open()
                    try await page.wait(Browser.accountIsShown)
                    let cookies = try await page.cookies()
                    #expect(cookies.count == 2)
                    let kept = cookies.filter { cookie in former.contains { $0["value"] == cookie["value"] } }
                    #expect(kept == [])
                    try await page.send("Network.clearBrowserCookies")
                    try await page.open()
                    try await page.wait(Browser.signInIsShown)
                }
            }
        }

        @Test("a page that is left alone does not prolong its session; whoever comes back does")
        func leftAlone() async throws {
            try await TestServer.with { server in
                let user = try await TestUser.make(on: server)
                try await Browser.with(server) { page in
                    try await page.signIn(user)
                    let before = await page.requests.count
                    try await page.send(
                        "Network.deleteCookies",
                        ["name": "touchstone-access", "url": "http://localhost:8080/"]
                    )
                    // It looks for transactions by itself, and is refused.
                    try await page.waitForRequest("/v1/transactions", after: before)
                    try await page.wait("new Promise(done => setTimeout(() => done(true), 500))")
                    #expect(await page.requests.contains { $0.hasSuffix("/v1/token") } == false)
                    // Whether it heard of the refusal yet is its own matter.
                    for _ in 0..<600 where await !page.requests.contains(where: { $0.hasSuffix("/v1/token") })
                    {
                        try await page.press(.tab)
                        try await Task.sleep(for: .milliseconds(100))
                    }
                    #expect(await page.requests.contains { $0.hasSuffix("/v1/token") })
                    try await page.click("#sign-out")
                    try await page.wait(Browser.signInIsShown)
                }
            }
        }

        @Test("a window hears that another one signed out, and that it signed in as somebody else")
        func windows() async throws {
            try await TestServer.with { server in
                let user = try await TestUser.make(on: server)
                let other = try await TestUser.make(on: server, "berta")
                try await Browser.with(server) { page in
                    try await page.signIn(user)
                    try await page.openWindow()
                    try await page.wait("other.document.querySelector('#view-account')?.checkVisibility()")
                    try await page.value("other.document.querySelector('#sign-out').click()")
                    try await page.wait(Browser.signInIsShown)
                    try await page.expectNotice("signed out in another window")
                    try await page.value(
                        """
                        other.document.querySelector("#username").value = "\(other.name)",
                        other.document.querySelector("#password").value = "\(TestUser.password)",
                        other.document.querySelector("#sign-in-form .primary").click()
                        """
                    )
                    try await page.wait(Browser.accountIsShown)
                    try await page.wait("document.querySelector('#who-name').textContent === 'berta'")
                }
            }
        }

        @Test("a server that is away is told, and is asked again")
        func unreachable() async throws {
            try await TestServer.with { server in
                let user = try await TestUser.make(on: server)
                try await Browser.with(server) { page in
                    try await page.signIn(user)
                    try await page.send("Network.setBlockedURLs", ["urls": ["*/v1/*"]])
                    try await page.click("#sign-out")
                    try await page.wait(
                        "document.querySelector('#alert').textContent.includes('cannot be reached')"
                    )
                    #expect(try await page.value(Browser.accountIsShown) == true)
                    try await page.open()
                    try await page.wait("document.querySelector('#retry').checkVisibility()")
                    try await page.send("Network.setBlockedURLs", ["urls": []])
                    try await page.click("#retry")
                    try await page.wait(Browser.accountIsShown)
                }
            }
        }

        @Test("what is shown is what is signed, and the signature is over it")
        func approval() async throws {
            try await TestServer.with { server in
                let user = try await TestUser.make(on: server)
                try await Browser.with(server) { page in
                    try await page.addAuthenticator()
                    try await page.signIn(user)
                    try await page.addPasskey()
                    let id = try await ask(user)
                    // It appears by itself.
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
                    // A link leads to one; it can be rejected.
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

        @Test("a signature that nobody gave approves nothing, and one for other words is not even asked for")
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
                    // Somebody between server and page changes what is shown.
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

        @Test(
            "a change that needs somebody who is there asks for the passkey or the password, and goes on then"
        )
        func stepUp() async throws {
            try await TestServer.with { server in
                let user = try await TestUser.make(on: server)
                try await Browser.with(server) { page in
                    let authenticator = try await page.addAuthenticator()
                    try await page.signIn(user)
                    try server.ageSessions()
                    // Without a passkey it is the password, and nothing else is offered.
                    try await page.click("#add-passkey")
                    try await page.wait("document.querySelector('#step-up').open")
                    #expect(
                        try await page.value("document.querySelector('#step-up-passkey').checkVisibility()")
                            == false
                    )
                    try await page.click("#step-up-cancel")
                    try await page.wait("!document.querySelector('#step-up').open")
                    #expect(
                        try await page.value("document.querySelectorAll('#credential-list > li').length") == 0
                    )
                    try await page.click("#add-passkey")
                    try await page.fill("#step-up-password", "wrong wrong")
                    try await page.press(.enter)
                    try await page.wait(
                        "document.querySelector('#step-up-error').textContent.includes('not your password')"
                    )
                    // The wait after a failure is a second.
                    for _ in 0..<20 {
                        try await page.fill("#step-up-password", TestUser.password)
                        try await page.value("document.querySelector('#step-up-error').textContent = ''")
                        try await page.click("#step-up-submit")
                        try await page.wait(
                            "!document.querySelector('#step-up').open || document.querySelector('#step-up-error').textContent"
                        )
                        if try await page.value("document.querySelector('#step-up').open") == false { break }
                        try await page.wait(
                            "(async () => { await new Promise(done => setTimeout(done, 1000)); return true })()"
                        )
                    }
                    try await page.wait("document.querySelectorAll('#credential-list > li').length === 1")
                    // It is the same session, and this one goes on by the passkey.
                    try await page.wait("document.querySelectorAll('#session-list > li').length === 1")
                    try server.ageSessions()
                    try await page.click("#credential-list .remove")
                    try await page.click("#confirm-yes")
                    try await page.click("#step-up-passkey")
                    try await page.wait("document.querySelector('#credential-list').children.length === 0")
                    _ = authenticator
                    #expect(
                        try await server.admin(.GET, "/users/\(user.id)/sessions")["sessions"]?.array?.count
                            == 1
                    )
                }
            }
        }

        @Test("the password is changed: a wrong one and a weak one are told, and other sessions end")
        func changePassword() async throws {
            try await TestServer.with { server in
                let user = try await TestUser.make(on: server)
                var other = user
                try await other.signIn()
                try await Browser.with(server) { page in
                    try await page.signIn(user)
                    try await page.click("#change-password")
                    try await page.fill("#current-password", TestUser.password)
                    try await page.fill("#next-password", "short")
                    try await page.click("#new-password-form .primary")
                    let error = "document.querySelector('#new-password-error').textContent"
                    try await page.wait("\(error).includes('at least 8 characters')")
                    try await page.fill("#next-password", "an entirely new one 5")
                    try await page.click("#new-password-form .primary")
                    try await page.expectNotice("The password was changed.")
                    #expect(try await other.call(.GET, "/v1/me").status == 401)
                    #expect(try await user.logIn("an entirely new one 5").status == 200)
                }
            }
        }

        @Test("with TLS the cookies have the prefix that binds them to the host")
        func tls() async throws {
            try await TestServer.with {
                $0.publicURL = "https://localhost:8443"
                ($0.tlsCertificate, $0.tlsKey) = try TestCertificate.write(to: $0.dataDirectory)
            } _: { server in
                // The tests' own client does not know the certificate, so that the account is there before.
                let name = try await server.admin(
                    .POST,
                    "/users",
                    ["username": "anna", "password": .string(TestUser.password)]
                )
                let user = TestUser(server: server, id: name["id"]?.string ?? "", name: "anna")
                try await Browser.with(server, flags: ["--ignore-certificate-errors"]) { page in
                    try await page.addAuthenticator()
                    try await page.signIn(user, address: "https://localhost:8443/")
                    let cookies = try await page.cookies()
                    #expect(
                        Set(cookies.compactMap { $0["name"]?.string })
                            == ["__Host-touchstone-access", "__Host-touchstone-refresh"]
                    )
                    #expect(
                        cookies.allSatisfy {
                            $0["secure"] == true && $0["httpOnly"] == true && $0["sameSite"] == "Strict"
                        }
                    )
                    try await page.addPasskey()
                    try await page.click("#sign-out")
                    try await page.wait(
                        "document.querySelector('#session-list').innerText.includes('Signed in with a passkey')"
                    )
                }
            }
        }

        @Test("what somebody manages to put into the page does not run and sends nothing away")
        func policy() async throws {
            try await TestServer.with { server in
                let user = try await TestUser.make(on: server)
                try await Browser.with(server) { page in
                    try await page.signIn(user)
                    #expect(await page.complaints == [])
                    let outcome = try await page.value(
                        """
                        (async () => {
                            const done = [];
                            const attempt = async (name, body) => {
                                try { await body(); done.push(name) } catch {}
                            };
                            await attempt("markup", () => { document.body.innerHTML += "<img src=x onerror='ran = 1'>" });
                            await attempt("script", () => {
                                const script = document.createElement("script");
                                script.textContent = "ran = 1";
                                document.body.append(script);
                            });
                            await attempt("elsewhere", () => fetch("http://127.0.0.1:9/"));
                            await attempt("handler", () => {
                                const button = document.createElement("button");
                                button.setAttribute("onclick", "globalThis.ran = 1");
                                button.click();
                            });
                            await attempt("text as code", () => setTimeout("globalThis.ran = 1", 0));
                            return [...done, globalThis.ran ?? "nothing ran"];
                        })()
                        """
                    )
                    #expect(outcome == ["nothing ran"])
                    // Here the complaints are what was wanted.
                    #expect(await page.complaints.isEmpty == false)
                    await page.forgetComplaints()
                }
            }
        }
    }
}
