import Foundation
import HTTPTypes
import NIOHTTP1
import RelyingParty
import Testing
import WebAuthnModel

@testable import TouchstoneServer

extension ServerTests {
    @Suite("Account page: links, recovery codes, the end of the account")
    struct PageRecoveryTests {
        private static let setUpIsShown = "document.querySelector('#view-set-up').checkVisibility()"
        private static let linkIsShown = "document.querySelector('#view-link').checkVisibility()"

        private func address(_ token: String) -> String { "http://localhost:8080/#link=\(token)" }

        @Test("a link is used by a press, not by opening it; a passkey is added, and signs in")
        func link() async throws {
            try await TestServer.with { server in
                let user = try await TestUser.make(on: server)
                let token = try await server.link(user.id)
                try await Browser.with(server) { page in
                    _ = try await page.addAuthenticator()
                    try await page.open(address(token))
                    try await page.wait(Self.linkIsShown)
                    try await page.wait("document.activeElement.id === 'link-title'")
                    // It is neither used yet nor in the address any more.
                    #expect(
                        try await page.value("location.hash + document.title").string?.contains(token)
                            == false
                    )
                    let links = try await server.admin(.GET, "/users/\(user.id)/links")["links"]
                    #expect(links?.array?.count == 1)
                    try await page.click("#link-submit")
                    try await page.wait(Self.setUpIsShown)
                    try await page.wait("document.activeElement.id === 'set-up-title'")
                    #expect(
                        try await page.value(
                            "document.querySelector('#set-up-text').textContent.includes('stay as they are')"
                        ) == true
                    )
                    #expect(
                        try await page.value("document.querySelector('#set-up-name').textContent") == "anna"
                    )
                    #expect(
                        try await page.value("document.querySelector('#set-up-current').checkVisibility()")
                            == false
                    )
                    // The session survives a reload, and is still for this alone.
                    try await page.open()
                    try await page.wait(Self.setUpIsShown)
                    try await page.click("#set-up-passkey")
                    try await page.wait(Browser.signInIsShown)
                    try await page.expectNotice("The passkey was added.")
                    #expect(try await page.cookies() == [])
                    try await page.click("#passkey-sign-in")
                    try await page.wait(Browser.accountIsShown)
                    try await page.wait("document.querySelectorAll('#credential-list > li').length === 1")
                    // Opened again where the page is open: only the fragment changes.
                    try await page.value("location.hash = '#link=\(token)'")
                    try await page.wait(Self.linkIsShown)
                    try await page.click("#link-submit")
                    try await page.wait(
                        "document.querySelector('#link-error').textContent.includes('was used')"
                    )
                    #expect(
                        try await page.value("document.querySelector('#link-submit').checkVisibility()")
                            == false
                    )
                    // The session that there was is unchanged.
                    try await page.click("#link-cancel")
                    try await page.wait(Browser.accountIsShown)
                }
            }
        }

        @Test("a recovery that ends everything says so, and a password is set with the keyboard alone")
        func recoveryLink() async throws {
            try await TestServer.with { server in
                let user = try await TestUser.withPasskey(on: server)
                let token = try await server.link(user.id, ["kind": "recovery", "credentials": "end"])
                try await Browser.with(server) { page in
                    try await page.open(address(token))
                    try await page.wait(Self.linkIsShown)
                    try await page.tab(to: "#link-submit")
                    try await page.press(.enter)
                    try await page.wait(Self.setUpIsShown)
                    #expect(
                        try await page.value(
                            "document.querySelector('#set-up-text').textContent.includes('have ended')"
                        ) == true
                    )
                    #expect(try await user.call(.GET, "/v1/me").status == 401)
                    try await page.tab(to: "#set-up-next")
                    try await page.type("short")
                    try await page.press(.enter)
                    try await page.wait(
                        "document.querySelector('#set-up-error').textContent.includes('at least 8 characters')"
                    )
                    try await page.wait("document.activeElement.id === 'set-up-next'")
                    try await page.fill("#set-up-next", "a new one for me 5")
                    try await page.press(.enter)
                    try await page.wait(Browser.signInIsShown)
                    try await page.expectNotice("The password was set.")
                    #expect(try await user.logIn("a new one for me 5").status == 200)
                }
            }
        }

        @Test("a password that must be changed is changed before anything else is shown")
        func mustChange() async throws {
            try await TestServer.with { server in
                let user = try await TestUser.make(on: server)
                let chosen: JSONValue = ["new": .string(TestUser.password), "mustChangePassword": true]
                #expect(try await server.admin(.PUT, "/users/\(user.id)/password", chosen).status == 204)
                try await Browser.with(server) { page in
                    try await page.open()
                    try await page.wait(Browser.signInIsShown)
                    try await page.fill("#username", user.name)
                    try await page.fill("#password", TestUser.password)
                    try await page.click("#sign-in-form .primary")
                    try await page.wait(Self.setUpIsShown)
                    #expect(
                        try await page.value("document.querySelector('#set-up-passkey').checkVisibility()")
                            == false
                    )
                    try await page.fill("#set-up-current", TestUser.password)
                    try await page.fill("#set-up-next", TestUser.password)
                    try await page.click("#set-up-submit")
                    try await page.wait(
                        "document.querySelector('#set-up-error').textContent.includes('has to be changed')"
                    )
                    try await page.fill("#set-up-next", "a new one for me 5")
                    try await page.click("#set-up-submit")
                    try await page.wait(Browser.signInIsShown)
                    try await page.fill("#username", user.name)
                    try await page.fill("#password", "a new one for me 5")
                    try await page.click("#sign-in-form .primary")
                    try await page.wait(Browser.accountIsShown)
                }
            }
        }

        @Test("recovery codes are shown once, and one of them gets somebody in")
        func codes() async throws {
            try await TestServer.with { server in
                let user = try await TestUser.make(on: server)
                try await Browser.with(server) { page in
                    try await page.signIn(user)
                    try await page.wait(
                        "document.querySelector('#codes-text').textContent.includes('You have none')"
                    )
                    try await page.click("#make-codes")
                    try await page.wait("document.querySelectorAll('#code-list > li').length === 10")
                    let code = try #require(
                        try await page.value("document.querySelector('#code-list > li').textContent").string
                    )
                    try await page.click("#codes .primary")
                    try await page.expectNotice("You have new recovery codes.")
                    try await page.wait(
                        "document.querySelector('#codes-text').textContent.startsWith('10 left')"
                    )
                    #expect(try await page.value("document.body.textContent.includes('\(code)')") == false)
                    try await page.click("#sign-out")
                    try await page.wait(Browser.signInIsShown)
                    try await page.click("#use-code")
                    try await page.wait("document.activeElement.id === 'recover-username'")
                    let error = "document.querySelector('#recover-error').textContent"
                    try await page.press(.enter)
                    try await page.wait("\(error) === 'Enter your user name.'")
                    try await page.fill("#recover-username", user.name)
                    try await page.fill("#recover-code", code)
                    try await page.click("#recover-form .primary")
                    try await page.wait("\(error).startsWith('Choose')")
                    try await page.click("#recover-keep")
                    try await page.click("#recover-form .primary")
                    try await page.wait(Self.setUpIsShown)
                    #expect(
                        try await page.value(
                            "document.querySelector('#set-up-text').textContent.includes('codes left: 9')"
                        ) == true
                    )
                    try await page.click("#set-up-cancel")
                    try await page.wait(Browser.signInIsShown)
                    // The second time it is refused.
                    try await page.click("#use-code")
                    try await page.fill("#recover-username", user.name)
                    try await page.fill("#recover-code", code)
                    try await page.click("#recover-end")
                    try await page.click("#recover-form .primary")
                    try await page.wait("\(error).includes('do not go together')")
                    try await page.click("#recover-cancel")
                    try await page.wait(Browser.signInIsShown)
                }
            }
        }

        @Test("somebody makes an account where that is allowed, and is signed in")
        func registration() async throws {
            try await TestServer.with {
                $0.selfRegistration = true
            } _: { server in
                _ = try await TestUser.make(on: server)
                try await Browser.with(server) { page in
                    try await page.open()
                    try await page.wait(Browser.signInIsShown)
                    try await page.tab(to: "#create-account")
                    try await page.press(.enter)
                    try await page.wait("document.activeElement.id === 'register-username'")
                    let error = "document.querySelector('#register-error').textContent"
                    for (name, password, text) in [
                        ("a b", "long enough 1", "Check what you entered: must have no U+0020"),
                        ("anna", "long enough 1", "This user name is taken."),
                        ("berta", "short", "Choose another password: at least 8 characters"),
                    ] {
                        try await page.fill("#register-username", name)
                        try await page.fill("#register-password", password)
                        try await page.press(.enter)
                        try await page.wait("\(error).includes('\(text)')")
                    }
                    try await page.fill("#register-password", "long enough 1")
                    try await page.press(.enter)
                    try await page.wait(Browser.accountIsShown)
                    #expect(
                        try await page.value("document.querySelector('#who-name').textContent") == "berta"
                    )
                }
            }
        }

        @Test("where it is not allowed nobody is offered to make an account")
        func noRegistration() async throws {
            try await TestServer.with { server in
                try await Browser.with(server) { page in
                    try await page.open()
                    try await page.wait(Browser.signInIsShown)
                    #expect(
                        try await page.value("document.querySelector('#create-account').checkVisibility()")
                            == false
                    )
                }
            }
        }

        @Test("the data is downloaded, and the account is deleted by typing its name")
        func end() async throws {
            try await TestServer.with { server in
                let user = try await TestUser.make(on: server)
                try await Browser.with(server) { page in
                    try await page.signIn(user)
                    let folder = server.configuration.dataDirectory + "/downloads"
                    try await page.send(
                        "Page.setDownloadBehavior",
                        ["behavior": "allow", "downloadPath": .string(folder)]
                    )
                    try await page.click("#export-account")
                    try await page.expectNotice("Your data was downloaded.")
                    // The browser gives the file its name once it is whole.
                    let deadline = ContinuousClock.now + .seconds(60)
                    while !FileManager.default.fileExists(atPath: "\(folder)/account.json"),
                        ContinuousClock.now < deadline
                    { try await page.wait("document.readyState === 'complete'") }
                    let file = try Data(contentsOf: URL(filePath: "\(folder)/account.json"))
                    let saved = try JSONValue(parsing: Array(file), depth: 32)
                    #expect(saved["account"]?["username"] == "anna")
                    #expect(saved["sessions"]?.array?.count == 1 && saved["next"] == nil)
                    try await page.click("#end-account")
                    try await page.wait("document.querySelector('#delete-account').open")
                    try await page.fill("#delete-name", "berta")
                    try await page.press(.enter)
                    try await page.wait(
                        "document.querySelector('#delete-error').textContent.includes('not this account')"
                    )
                    try await page.press(.escape)
                    try await page.wait("!document.querySelector('#delete-account').open")
                    #expect(try await server.admin(.GET, "/users/\(user.id)").status == 200)
                    // After an hour it asks who it is.
                    try server.ageSessions()
                    try await page.click("#end-account")
                    try await page.fill("#delete-name", "anna")
                    try await page.click("#delete-form .danger")
                    try await page.wait("document.querySelector('#step-up').open")
                    try await page.fill("#step-up-password", TestUser.password)
                    try await page.press(.enter)
                    try await page.wait(Browser.signInIsShown)
                    try await page.expectNotice("Your account was deleted.")
                    #expect(try await page.cookies() == [])
                    #expect(try await server.admin(.GET, "/users/\(user.id)").status == 404)
                }
            }
        }
    }
}
