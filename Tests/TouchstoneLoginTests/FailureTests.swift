import Foundation
import LoopbackHTTP
import SecretMemory
import Testing
import Touchstone
import TouchstoneTesting

@testable import TouchstoneLogin

extension TenStepsTests {
    /// What the device and the server keep after each way in which set-up can fail.
    @Suite("Failed set-up of a device")
    struct FailureTests {
        private static let options = "/v1/credentials/options"
        static let finish = "/v1/credentials"

        /// A failure on the wire: its place, its kind, the app's error, and whether the server has a key afterwards.
        struct Cell: Sendable, CustomTestStringConvertible {
            let testDescription: String
            let path: String
            let deed: Relay.Deed
            let code: TouchstoneError.Code?
            var isKnown = false
            var isLookUpCut = false

            var mayBeKnown: Bool {
                path == FailureTests.finish && [.unreachable, .timedOut, .badReply].contains(code)
            }

            var hangs: Bool {
                switch deed {
                case .hang, .hangAfter: true
                default: false
                }
            }
        }

        private static let cells: [Cell] = [
            Cell(testDescription: "cut before the options", path: options, deed: .cut, code: .unreachable),
            Cell(testDescription: "the options lost", path: options, deed: .loseAnswer, code: .unreachable),
            Cell(testDescription: "the options hang", path: options, deed: .hang, code: .timedOut),
            Cell(
                testDescription: "the options are a page",
                path: options,
                deed: .answer(200, [:], "<html>"),
                code: .badReply
            ),
            Cell(
                testDescription: "the options are for another relying party",
                path: options,
                deed: .change { $0.replacing("\"id\":\"localhost\"", with: "\"id\":\"example.org\"") },
                code: .untrustedServer
            ),
            Cell(
                testDescription: "the options want what no device has",
                path: options,
                deed: .change { $0.replacing("\"alg\":-7", with: "\"alg\":-9999") },
                code: .unsupported
            ),
            Cell(testDescription: "cut before the end", path: finish, deed: .cut, code: .unreachable),
            Cell(
                testDescription: "the end hangs before the server",
                path: finish,
                deed: .hang,
                code: .timedOut
            ),
            Cell(
                testDescription: "the server refuses the key",
                path: finish,
                deed: .answer(
                    422,
                    ["Content-Type": "application/problem+json"],
                    #"{"code":"attestation_rejected"}"#
                ),
                code: .refused
            ),
            Cell(
                testDescription: "the server wants another device",
                path: finish,
                deed: .answer(
                    422,
                    ["Content-Type": "application/problem+json"],
                    #"{"code":"key_policy_rejected"}"#
                ),
                code: .hardwareTooWeak
            ),
            Cell(
                testDescription: "another key is confirmed",
                path: finish,
                deed: .answer(201, ["Content-Type": "application/json"], #"{"id":"AAAA"}"#),
                code: .badReply
            ),
            Cell(
                testDescription: "the server fails",
                path: finish,
                deed: .answer(500, [:], ""),
                code: .unreachable
            ),
            // The server has the key, and confirms it when asked again.
            Cell(
                testDescription: "the answer is lost",
                path: finish,
                deed: .loseAnswer,
                code: nil,
                isKnown: true
            ),
            Cell(
                testDescription: "the answer hangs",
                path: finish,
                deed: .hangAfter,
                code: nil,
                isKnown: true
            ),
            Cell(
                testDescription: "the answer is lost, and nothing can be asked",
                path: finish,
                deed: .loseAnswer,
                code: .unreachable,
                isKnown: true,
                isLookUpCut: true
            ),
        ]

        @Test("only a key that the server confirmed is kept")
        func wire() async throws {
            let world = try await LoginWorld()
            try await world.keychain.use {
                for cell in Self.cells {
                    let login = world.login(timeout: cell.hangs ? .seconds(15) : .seconds(60))
                    let session = try await world.session(login)
                    let offer = try #require(try await session.offer())
                    world.relay.script { exchange in
                        if exchange.method == "POST", exchange.path == cell.path { return cell.deed }
                        return cell.isLookUpCut && exchange.path.hasPrefix("/v1/credentials/")
                            && exchange.method == "GET"
                            ? .cut : .pass
                    }
                    let error = await failure { () async throws(TouchstoneError) in
                        try await offer.accept(label: "Laptop", "Sign in by finger")
                    }
                    world.relay.passAll()
                    #expect(error?.code == cell.code, "\(cell.testDescription): \(error as Any)")
                    let known = try await session.devices()
                    #expect(known.count == (cell.isKnown ? 1 : 0), "\(cell.testDescription)")
                    if cell.code == nil {
                        #expect(
                            try await world.kept(login) == ["device", "refresh"],
                            "\(cell.testDescription)"
                        )
                        #expect(
                            try await login.state() == .ready(try #require(known.first)),
                            "\(cell.testDescription)"
                        )
                        _ = try await login.signIn("Sign in")
                    } else {
                        // If the server may have the key after all, its ID is kept, to have it removed later.
                        let kept: Set<String> = cell.mayBeKnown ? ["forgotten"] : []
                        #expect(try await world.kept(login) == kept, "\(cell.testDescription)")
                        #expect(try await login.state() == .signedOut, "\(cell.testDescription)")
                        // A second attempt succeeds.
                        let device = try await offer.accept(label: "Laptop", "Sign in by finger")
                        #expect(try await login.state() == .ready(device), "\(cell.testDescription)")
                    }
                    // The next login has the former key removed.
                    _ = try await world.session(login)
                    #expect(try await session.devices().count == 1, "\(cell.testDescription)")
                    for device in try await session.devices() { try await session.remove(device) }
                    #expect(try await world.kept(login).isEmpty)
                }
            }
        }

        @Test("a set-up cancelled by the user or the app leaves nothing")
        func cancelled() async throws {
            let world = try await LoginWorld()
            let keychain = world.keychain
            try await keychain.use {
                let login = world.login()
                let session = try await world.session(login)
                let offer = try #require(try await session.offer())
                keychain.person(.cancels)
                await #expect(throws: TouchstoneError(.userCancelled)) {
                    try await offer.accept(label: "Laptop", "No")
                }
                keychain.person(.ignores)
                let prompts = keychain.prompts.count
                let task = Task {
                    await failure { () async throws(TouchstoneError) in
                        try await offer.accept(label: "Laptop", "No")
                    }
                }
                try await Deadline.wait(for: "the prompt") { keychain.prompts.count > prompts ? true : nil }
                task.cancel()
                #expect(await task.value?.code == .taskCancelled)
                for label in ["", "a\nb", String(repeating: "x", count: 129)] {
                    await #expect(throws: TouchstoneError(.limitExceeded)) {
                        try await offer.accept(label: label, "No")
                    }
                }
                #expect(try await world.kept(login).isEmpty)
                #expect(try await session.devices().isEmpty)

                // After the prompt a cancellation has no effect.
                let late = Guarded<Task<LoginDevice, any Error>?>(nil)
                world.relay.script { exchange in
                    guard exchange.method == "POST", exchange.path == Self.finish else { return .pass }
                    late.withLock { $0?.cancel() }
                    return .pass
                }
                let last = Task { try await offer.accept(label: "Laptop", "Yes") }
                late.withLock { $0 = last }
                let device = try await last.value
                #expect(try await login.state() == .ready(device))
            }
        }

        @Test("with a full disk the server is told to delete the key")
        func diskFull() async throws {
            let world = try await LoginWorld()
            try await world.keychain.use {
                let login = world.login()
                let session = try await world.session(login)
                let offer = try #require(try await session.offer())
                try await world.keychain.cause(.diskFull)
                await #expect(throws: TouchstoneError(.diskFull)) {
                    try await offer.accept(label: "Laptop", "Yes")
                }
                #expect(try await session.devices().isEmpty)
                #expect(try await world.kept(login).isEmpty)
                #expect(try await login.state() == .signedOut)
            }
        }

        @Test("a failed sign-in changes nothing that is stored")
        func signIn() async throws {
            let world = try await LoginWorld()
            try await world.keychain.use {
                let (_, device) = try await world.setUp(world.login())
                for (method, path, deed, code) in [
                    ("POST", "/v1/login/options", Relay.Deed.cut, TouchstoneError.Code.unreachable),
                    ("POST", "/v1/login/options", .answer(200, [:], "{}"), .badReply),
                    ("POST", "/v1/login", .cut, .unreachable),
                    ("POST", "/v1/login", .loseAnswer, .unreachable),
                    ("POST", "/v1/login", .hangAfter, .timedOut),
                    (
                        "POST", "/v1/login",
                        .change { $0.replacing("\"refresh_bound\":true", with: "\"refresh_bound\":false") },
                        .badReply
                    ), ("POST", "/v1/token", .loseAnswer, .unreachable),
                    ("POST", "/v1/token", .answer(503, ["Retry-After": "7"], ""), .unreachable),
                ] {
                    let login = world.login(timeout: code == .timedOut ? .seconds(15) : .seconds(60))
                    world.relay.script(method, path, deed)
                    let error = await failure { () async throws(TouchstoneError) in
                        path == "/v1/token"
                            ? try await login.resume("Go on") : try await login.signIn("Sign in")
                    }
                    #expect(error?.code == code, "\(path) \(deed): \(error as Any)")
                    world.relay.passAll()
                    #expect(try await world.kept(login) == ["device", "refresh"])
                    #expect(try await login.state() == .ready(device))
                    _ = try await login.resume("Go on")
                }
                _ = try await world.login().signIn("Sign in")
            }
        }

        @Test("a challenge, a token and a response are accepted once")
        func replayed() async throws {
            let world = try await LoginWorld()
            let (relay, keychain) = (world.relay, world.keychain)
            try await keychain.use {
                let login = world.login()
                _ = try await world.setUp(login)
                _ = try await login.signIn("Sign in")
                // A server that repeats a challenge: no prompt is shown.
                let old = try #require(relay.exchanges.last { $0.path == "/v1/login/options" }?.answer)
                let prompts = keychain.prompts.count
                relay.script(
                    "POST",
                    "/v1/login/options",
                    .answer(200, ["Content-Type": "application/json"], old)
                )
                await #expect(throws: TouchstoneError(.replayed)) { try await login.signIn("No") }
                #expect(keychain.prompts.count == prompts)
                // A server that repeats a session.
                let session = try #require(relay.exchanges.last { $0.path == "/v1/login" }?.answer)
                relay.script("POST", "/v1/login", .answer(200, ["Content-Type": "application/json"], session))
                await #expect(throws: TouchstoneError(.replayed)) { try await login.signIn("Sign in") }
                // A man in the middle who sends a response twice: the second is refused, and so is the app's.
                relay.script { [server = world.server] exchange in
                    guard exchange.path == "/v1/login" else { return .pass }
                    _ = try? server.api.send(
                        "POST",
                        "/v1/login",
                        headers: ["Content-Type": "application/json"],
                        body: Array(exchange.body.utf8)
                    )
                    return .pass
                }
                let second = await failure { () async throws(TouchstoneError) in
                    try await login.signIn("Sign in")
                }
                #expect(second?.code == .replayed && second?.cause == "ceremony_expired", "\(second as Any)")
                relay.passAll()
                _ = try await login.signIn("Sign in")
            }
        }
    }
}
