import Foundation
import HTTPTypes
import NIOHTTP1
import RelyingParty
import Testing
import WebAuthnModel

@testable import TouchstoneServer

extension ServerTests {
    @Suite("Account page in Chromium")
    struct PageTests {
        @Test(
            "a wrong password is reported, the right one signs in; no script sees a token; nothing external loads"
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
                    // The focus is on the field to correct, and the field has the error.
                    try await page.wait("document.activeElement.id === 'password'")
                    #expect(
                        try await page.value("document.activeElement.getAttribute('aria-invalid')") == "true"
                    )
                    #expect(
                        try await page.value("document.activeElement.getAttribute('aria-describedby')")
                            == "sign-in-error"
                    )
                    // After a failure there is a delay of a second.
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
                    // A later visit continues the session, by the cookies alone.
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

        @Test("the browser's passkey suggestion signs in without a name and without a button")
        func suggestion() async throws {
            try await TestServer.with { server in
                let user = try await TestUser.make(on: server)
                try await Browser.with(server) { page in
                    try await page.addAuthenticator()
                    try await page.signIn(user)
                    try await page.addPasskey()
                    try await page.click("#sign-out")
                    // A headless browser chooses for its user.
                    try await page.wait(
                        "document.querySelector('#session-list').innerText.includes('Signed in with a passkey')"
                    )
                }
            }
        }

        @Test("the session outlives the access cookie, and ends with the refresh cookie")
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

        @Test("an idle page does not prolong its session; user activity does")
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
                    // It polls for transactions, and is refused.
                    try await page.waitForRequest("/v1/transactions", after: before)
                    try await page.wait("new Promise(done => setTimeout(() => done(true), 500))")
                    #expect(await page.requests.contains { $0.hasSuffix("/v1/token") } == false)
                    // Whether the page has handled the refusal yet does not matter.
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

        @Test("a window notices when another one signs out or signs in to another account")
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

        @Test("an unreachable server is reported, and tried again")
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

        @Test("with TLS the cookies have the `__Host-` prefix")
        func tls() async throws {
            try await TestServer.with {
                $0.publicURL = "https://localhost:8443"
                ($0.tlsCertificate, $0.tlsKey) = try TestCertificate.write(to: $0.dataDirectory)
            } _: { server in
                // The tests' own client does not trust the certificate, so the account is created before.
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

        @Test("an injected script does not run and sends nothing")
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
                    // Here the policy violations are expected.
                    #expect(await page.complaints.isEmpty == false)
                    await page.forgetComplaints()
                }
            }
        }
    }
}
