import Foundation
import HTTPTypes
import NIOHTTP1
import RelyingParty
import Testing
import WebAuthnModel

@testable import TouchstoneServer

extension ServerTests {
    @Suite("Account page: passkeys, sessions, password")
    struct PageAccountTests {
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
                    // A single one on a single device: a second one is suggested.
                    try await page.wait("document.querySelector('#one-passkey').checkVisibility()")
                    // Without user presence the passkey suggested in the name field waits.
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
                    // An invalid name is asked for again; markup is shown as text.
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
                    // Removal needs a confirmation.
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
                    // The page keeps the session that removed the passkey, and the passkey no longer signs in.
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

        @Test("the page ends other sessions, and reports that its own was ended")
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
                    // Now an administrator ends this session.
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

        @Test(
            "a change that needs recent authentication asks for the passkey or the password, then continues"
        )
        func stepUp() async throws {
            try await TestServer.with { server in
                let user = try await TestUser.make(on: server)
                try await Browser.with(server) { page in
                    let authenticator = try await page.addAuthenticator()
                    try await page.signIn(user)
                    try server.ageSessions()
                    // Without a passkey only the password is offered.
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
                    // The delay after a failure is a second.
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
                    // It is the same session, now authenticated again by the passkey.
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

        @Test("the password is changed: wrong and weak ones are reported, and other sessions end")
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
    }
}
