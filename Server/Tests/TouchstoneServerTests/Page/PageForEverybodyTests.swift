import Foundation
import HTTPTypes
import NIOHTTP1
import Testing
import WebAuthnModel

@testable import TouchstoneServer

extension ServerTests {
    @Suite("Account page: accessibility")
    struct PageForEverybodyTests {
        /// Audits a state of the page in light and dark, in narrow windows and with large text.
        private func look(_ page: Browser, _ state: String) async throws -> [String] {
            for scheme in ["light", "dark"] {
                try await page.prefer(scheme)
                #expect(try await PageAudit.contrastFaults(page) == [], "\(state), \(scheme)")
                try await PageAudit.picture(page, "\(state)-\(scheme)")
            }
            // A 1280 px window at 400 % and at 200 % zoom; text at twice its size.
            for (width, size) in [(320, ""), (640, ""), (320, "200%")] {
                #expect(
                    try await PageAudit.overflow(page, width: Int64(width), fontSize: size) == [],
                    "\(state), \(width) \(size)"
                )
            }
            #expect(try await PageAudit.overflow(page, width: 1280) == [])
            return try await PageAudit.names(page)
        }

        @Test(
            "every control has a name, all text has enough contrast, and narrow windows and large text fit"
        )
        func states() async throws {
            try await TestServer.with { server in
                let user = try await TestUser.make(on: server)
                try await Browser.with(server) { page in
                    let authenticator = try await page.addAuthenticator()
                    try await page.open()
                    try await page.wait(Browser.signInIsShown)
                    #expect(try await page.value("document.documentElement.lang") == "en")
                    let signIn = try await look(page, "sign-in")
                    for name in [
                        "link Skip to the content", "textbox User name", "textbox Password", "button Sign in",
                        "button Show password", "button Sign in with a passkey", "button Use a recovery code",
                    ] { #expect(signIn.contains(name), "\(signIn)") }
                    try await page.click("#use-code")
                    let recovery = try await look(page, "recovery")
                    for name in ["textbox User name", "textbox Recovery code", "button Continue"] {
                        #expect(recovery.contains(name), "\(recovery)")
                    }
                    #expect(recovery.count { $0.hasPrefix("radio It ") } == 2, "\(recovery)")
                    let token = try await server.link(user.id)
                    try await page.value("location.hash = '#link=\(token)'")
                    try await page.wait("document.querySelector('#view-link').checkVisibility()")
                    #expect(try await look(page, "link").contains("button Open my account"))
                    try await page.click("#link-submit")
                    try await page.wait("document.querySelector('#view-set-up').checkVisibility()")
                    let setUp = try await look(page, "set-up")
                    for name in ["button Add a passkey", "textbox New password", "button Set the password"] {
                        #expect(setUp.contains(name), "\(setUp)")
                    }
                    try await page.click("#set-up-cancel")
                    try await page.wait(Browser.signInIsShown)
                    try await page.fill("#username", user.name)
                    try await page.fill("#password", "wrong wrong")
                    try await page.click("#sign-in-form .primary")
                    try await page.wait("document.querySelector('#sign-in-error').textContent")
                    _ = try await look(page, "sign-in-error")
                    try await page.wait(
                        "(async () => { await new Promise(done => setTimeout(done, 1500)); return true })()"
                    )
                    try await page.fill("#password", TestUser.password)
                    try await page.click("#sign-in-form .primary")
                    try await page.wait(Browser.accountIsShown)
                    _ = try await look(page, "first")
                    try await page.addPasskey()
                    try await page.send(
                        "WebAuthn.clearCredentials",
                        ["authenticatorId": .string(authenticator)]
                    )
                    try await page.addPasskey(2)
                    try await page.value(
                        """
                        (async () => {
                            const { credentials } = await (await fetch("/v1/credentials")).json();
                            for (const [index, { id }] of credentials.entries()) await fetch(`/v1/credentials/${id}`, {
                                method: "PATCH", headers: { "Content-Type": "application/json" },
                                body: JSON.stringify({ label: index ? "W".repeat(100) : "Laptop" }) });
                        })()
                        """
                    )
                    for client in ["Phone", "x"] {
                        _ = try await server.call(
                            .POST,
                            "/v1/login/password",
                            [
                                "username": .string(user.name), "password": .string(TestUser.password),
                                "client": .string(client),
                            ]
                        )
                    }
                    let made = try await server.call(
                        .POST,
                        "/v1/transactions",
                        [
                            "type": "payment", "username": .string(user.name),
                            "details": [
                                "account": .string(String(repeating: "0123456789", count: 12)),
                                "items": [["a": "b", "c": ["d": "e"]], 5, "f"],
                            ],
                        ],
                        token: TestServer.serviceSecret
                    )
                    #expect(made.status == 201)
                    try await page.open()
                    try await page.wait("document.querySelectorAll('#transaction-list > li').length === 1")
                    try await page.click("#transaction-list summary")
                    let account = try await look(page, "account")
                    for name in [
                        "button Sign out", "button Approve Payment", "button Reject Payment",
                        "button Add a passkey",
                        "button Rename Laptop", "button Remove Laptop", "button Sign out Phone",
                        "button Sign out everywhere else", "button Change password",
                    ] { #expect(account.contains(name), "\(account)") }
                    // Heading levels in order, a single one at the top.
                    let levels =
                        try await page.value(
                            "[...document.querySelectorAll('h1,h2,h3')].filter(e => e.checkVisibility()).map(e => Number(e.tagName[1]))"
                        ).array?.compactMap(\.integer) ?? []
                    #expect(levels.filter { $0 == 1 }.count == 1 && levels.first == 1)
                    #expect(zip(levels, levels.dropFirst()).allSatisfy { $1 <= $0 + 1 })
                    for (press, dialog) in [
                        ("#credential-list .remove", "confirm"), ("#credential-list .rename", "rename"),
                        ("#change-password", "new-password"), ("#make-codes", "codes"),
                        ("#end-account", "delete-account"),
                    ] {
                        try await page.click(press)
                        try await page.wait("document.querySelector('#\(dialog)').open")
                        let names = try await look(page, dialog)
                        #expect(names.contains { $0.hasPrefix("dialog ") }, "\(names)")
                        try await page.press(.escape)
                        try await page.wait("!document.querySelector('#\(dialog)').open")
                        // The focus is back where it was, or at what is new.
                        let place = press == "#make-codes" ? "#codes-heading" : press
                        try await page.wait("document.activeElement.matches('\(place)')")
                    }
                    try server.ageSessions()
                    try await page.click("#add-passkey")
                    try await page.wait("document.querySelector('#step-up').open")
                    _ = try await look(page, "step-up")
                }
            }
        }

        @Test("everything works with the keys Tab, Enter and Escape")
        func keyboard() async throws {
            try await TestServer.with { server in
                let user = try await TestUser.make(on: server)
                var other = user
                try other.take(try await user.logIn())
                try await Browser.with(server) { page in
                    let authenticator = try await page.addAuthenticator()
                    try await page.open()
                    try await page.wait("document.activeElement.id === 'username'")
                    // From the top the first stop is the skip link.
                    try await page.press(.tab, shift: true)
                    #expect(try await page.value("document.activeElement.matches('.skip')") == true)
                    let outline = try await page.value(
                        "getComputedStyle(document.activeElement).outlineWidth"
                    )
                    #expect(outline == "3px")
                    try await page.press(.enter)
                    try await page.tab(to: "#username")
                    try await page.type(user.name)
                    try await page.press(.tab)
                    try await page.type(TestUser.password)
                    // Pressed twice: only one session is opened.
                    try await page.press(.enter)
                    try await page.press(.enter)
                    try await page.wait(Browser.accountIsShown)
                    try await page.wait("document.activeElement.id === 'account-title'")
                    try await page.tab(to: "#add-passkey")
                    try await page.press(.enter)
                    try await page.wait("document.activeElement.matches('#credential-list .rename')")
                    try await page.press(.enter)
                    try await page.wait("document.querySelector('#rename').open")
                    // The text is selected, so that typing replaces it.
                    try await page.type("Key of the keyboard")
                    try await page.press(.enter)
                    try await page.wait(
                        "document.querySelector('#credential-list .row-title').textContent === 'Key of the keyboard'"
                    )
                    try await page.tab(to: "#session-list .end")
                    try await page.press(.enter)
                    try await page.wait("document.querySelector('#confirm').open")
                    // The initial focus is not on the irreversible action.
                    #expect(try await page.value("document.activeElement.value") == "cancel")
                    // The focus stays in the dialog.
                    for _ in 0..<5 {
                        try await page.press(.tab)
                        #expect(
                            try await page.value(
                                "document.activeElement === document.body || document.activeElement.closest('#confirm') !== null"
                            ) == true
                        )
                    }
                    try await page.tab(to: "#confirm-yes")
                    try await page.press(.enter)
                    try await page.wait("document.querySelectorAll('#session-list > li').length === 1")
                    #expect(try await other.call(.GET, "/v1/me").status == 401)
                    let made = try await server.call(
                        .POST,
                        "/v1/transactions",
                        ["type": "consent", "details": ["scope": "all"], "username": .string(user.name)],
                        token: TestServer.serviceSecret
                    )
                    try await page.wait("document.querySelector('#transaction-list .approve')")
                    try await page.tab(to: "#transaction-list .approve")
                    try await page.press(.enter)
                    try await page.expectNotice("Consent was approved.")
                    let id = made["id"]?.string ?? ""
                    let decided = try await server.call(
                        .GET,
                        "/v1/transactions/\(id)",
                        token: TestServer.serviceSecret
                    )
                    #expect(decided["status"] == "approved")
                    try await page.setPresence(false, of: authenticator)
                    try await page.tab(to: "#sign-out")
                    try await page.press(.enter)
                    try await page.wait("document.activeElement.id === 'username'")
                    try await page.tab(to: "#passkey-sign-in")
                    try await page.press(.enter)
                    try await page.setPresence(true, of: authenticator)
                    try await page.wait(Browser.accountIsShown)
                }
            }
        }
    }
}
