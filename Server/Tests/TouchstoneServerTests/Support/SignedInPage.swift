import Foundation
import Testing
import WebAuthnModel

@testable import TouchstoneServer

// Steps shared by the page's tests.

extension Browser {
    static let signInIsShown = "document.querySelector('#view-sign-in').checkVisibility()"
    static let accountIsShown = "document.querySelector('#view-account').checkVisibility()"

    /// Opens the page and signs in by password.
    func signIn(_ user: TestUser, address: String = "http://localhost:8080/") async throws {
        try await open(address)
        try await wait(Self.signInIsShown)
        try await fill("#username", user.name)
        try await fill("#password", TestUser.password)
        try await click("#sign-in-form .primary")
        try await wait(Self.accountIsShown)
    }

    /// Adds a passkey, the account's `count`th.
    func addPasskey(_ count: Int = 1) async throws {
        try await click("#add-passkey")
        try await wait("document.querySelectorAll('#credential-list > li').length === \(count)")
    }

    /// Makes the browser prefer a light or a dark page, and no motion.
    func prefer(_ scheme: String) async throws {
        try await send(
            "Emulation.setEmulatedMedia",
            [
                "features": [
                    ["name": "prefers-color-scheme", "value": .string(scheme)],
                    ["name": "prefers-reduced-motion", "value": "reduce"],
                ]
            ]
        )
        try await wait("matchMedia('(prefers-color-scheme: \(scheme))').matches")
    }

    /// Makes the browser prefer languages, in this order.
    func prefer(languages: String) async throws {
        let agent = try await value("navigator.userAgent")
        try await send(
            "Emulation.setUserAgentOverride",
            ["userAgent": agent, "acceptLanguage": .string(languages)]
        )
    }

    /// Waits for a notice on the page.
    func expectNotice(_ text: String, sourceLocation: SourceLocation = #_sourceLocation) async throws {
        try await wait(
            "document.querySelector('#notice').textContent.includes('\(text)')",
            sourceLocation: sourceLocation
        )
    }
}

extension TestServer {
    /// Sets the last authentication of all sessions to an hour ago.
    func ageSessions() throws {
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/python3")
        process.arguments = [
            "-c",
            """
            import sqlite3, sys
            database = sqlite3.connect(sys.argv[1], timeout=60)
            database.execute("UPDATE sessions SET auth_time = auth_time - 3600000")
            database.commit()
            """,
            "\(configuration.dataDirectory)/accounts.sqlite",
        ]
        try process.run()
        process.waitUntilExit()
        #expect(process.terminationStatus == 0)
    }
}
