import Testing
import Touchstone
import TouchstoneTesting
import WebAuthnModel

@testable import TouchstoneLogin

extension TenStepsTests {
    @Suite("A password that was changed elsewhere")
    struct PasswordChangeTests {
        @Test("ends the sealed session of this device; its key signs in again, the former password does not")
        func ended() async throws {
            let world = try await LoginWorld()
            try await world.keychain.use {
                let login = world.login()
                let (first, device) = try await world.setUp(login)
                #expect(try await login.resume("Go on").user == "anna")
                let elsewhere = try await world.session(login)
                let new = "another battery staple 8"
                _ = try await elsewhere.call(
                    "PUT",
                    "/v1/me/password",
                    ["current": .string(SignInServer.password), "new": .string(new)],
                    isBound: true
                )
                await #expect(throws: TouchstoneError(.sessionEnded)) { try await login.resume("Go on") }
                await #expect(throws: TouchstoneError(.sessionEnded)) { try await first.devices() }
                #expect(try await elsewhere.devices().map(\.id) == [device.id])
                #expect(try await login.state() == .ready(device))
                #expect(try await login.signIn("Sign in").user == "anna")
                #expect(try await login.resume("Go on").user == "anna")
                await #expect(throws: TouchstoneError(.wrongPassword)) { try await world.session(login) }
                #expect(try await login.signIn(user: "anna", password: new).user == "anna")
            }
        }
    }
}
