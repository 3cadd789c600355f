import FingerprintDriver
import Foundation
import KeychainClient
import KeychainModel
import MessageBus
import Synchronization
import Testing
import TouchstoneTesting

/// An attempt is refunded only if the sensor was stopped before it judged a touch; a mismatch that the sensor
/// announced is never refunded, whoever gives up at the same moment.
@Suite(
    "A mismatch at the moment of giving up",
    .serialized,
    .enabled(if: FileManager.default.isExecutableFile(atPath: "/usr/libexec/fprintd"), "no fprintd"),
    .timeLimit(.minutes(60))
)
struct GivenUpAttemptTests {
    /// The way of giving up.
    enum Ending: String, CaseIterable {
        /// The app cancels its request.
        case cancelled
        /// The app is killed.
        case killed
    }

    private static func count(_ keychain: PrivateKeychain) throws -> Int {
        try keychain.client.status().authentication.biometryFailures
    }

    /// Waits until the daemon has logged the end of `number` evaluations.
    private static func waitForEnd(_ number: Int, _ keychain: PrivateKeychain) async throws {
        try await keychain.expectLogged("authenticationCancelled", count: number)
    }

    /// Starts a biometrics evaluation; returns a closure that ends it.
    private static func start(
        _ ending: Ending,
        _ keychain: PrivateKeychain,
        on display: DisplaySocket
    ) async throws -> @Sendable () -> Void {
        // A mismatch is followed by another prompt. A scripted user without further actions cancels, and
        // after three cancelled prompts a program gets none for a minute.
        try keychain.tellPerson([.waits, .waits, .waits])
        let prompt = keychain.prompt(on: display)
        switch ending {
        case .cancelled:
            let cancellation = Cancellation()
            Thread.detachNewThread {
                _ = try? keychain.client.evaluatePolicy(
                    EvaluatePolicy(policy: 1, context: 1, reuseSeconds: 0, prompt: prompt),
                    cancellation: cancellation
                )
            }
            return { cancellation.cancel() }
        case .killed:
            let app = try await ChildProcess.start(
                Programs.touchstone,
                ["get", "k"],
                environment: [
                    "TOUCHSTONE_HOME": keychain.home.path, "PATH": "/usr/bin:/bin", "DISPLAY": display.name,
                ],
                log: keychain.home.appending("app")
            )
            return { app.stop() }
        }
    }

    // Catches a daemon that stops listening when it gives up, which refunds every second attempt.
    @Test(
        "a mismatch at the moment of giving up stays counted, with the real fprintd",
        arguments: Ending.allCases
    )
    func realRace(ending: Ending) async throws {
        let rounds = CaseSize.of(8, full: 200)
        let bus = try await PrivateBus.start(sensors: [.storage])
        try await Enroller(bus, sensor: .storage).enrol(print: "mine")
        let keychain = try await PrivateKeychain.ready(bus: bus)
        try await Self.addSecret(keychain)
        let display = try DisplaySocket()
        let reader = VirtualReader(bus, sensor: .storage)
        let listener = try await BusPeer(address: bus.address)
        try await listener.subscribe(
            "type='signal',interface='\(Fprint.deviceInterface)',member='VerifyStatus'"
        )
        var signals = listener.signals.makeAsyncIterator()
        var ends = 0
        for round in 0..<rounds {
            // The right passcode clears the counts.
            try keychain.client.lock()
            try keychain.tellPerson([])
            try keychain.client.unlock(keychain.prompt(on: display))
            #expect(try Self.count(keychain) == 0)
            let end = try await Self.start(ending, keychain, on: display)
            do {
                try await reader.scan("stranger")
            } catch {
                let texts = ["app", "daemon.stderr"].map { name in
                    let path = keychain.home.appending(name)
                    return "\(name): " + ((try? String(contentsOfFile: path, encoding: .utf8)) ?? "none")
                }
                Issue.record("round \(round): \(error)\n\(texts.joined(separator: "\n"))")
                throw error
            }
            // The sensor has judged; the daemon may not have received the signal yet.
            while let signal = await signals.next() {
                if signal.arguments.first?.text == "verify-no-match" { break }
            }
            if round % 2 == 1 { try await Task.sleep(for: .milliseconds(round % 25)) }
            end()
            ends += 1
            try await Self.waitForEnd(ends, keychain)
            #expect(try Self.count(keychain) == 1, "round \(round)")
            // The signals of the cancelled verification, if one was armed again.
            try await Self.drain(&signals, listener, bus)
        }
        await listener.close()
        await bus.stop()
    }

    // An attempt without a touch must not contribute to a lockout.
    @Test("an attempt without a touch is refunded, with the real fprintd", arguments: Ending.allCases)
    func untouched(ending: Ending) async throws {
        let bus = try await PrivateBus.start(sensors: [.storage])
        try await Enroller(bus, sensor: .storage).enrol(print: "mine")
        let keychain = try await PrivateKeychain.ready(bus: bus)
        try await Self.addSecret(keychain)
        let reader = VirtualReader(bus, sensor: .storage)
        let display = try DisplaySocket()
        try keychain.client.lock()
        try keychain.client.unlock(keychain.prompt(on: display))
        for round in 1...4 {
            let end = try await Self.start(ending, keychain, on: display)
            try await reader.waitUntilWanted()
            end()
            try await Self.waitForEnd(round, keychain)
            #expect(try Self.count(keychain) == 0, "round \(round)")
        }
        await bus.stop()
    }

    /// Stores a secret that requires a fingerprint.
    private static func addSecret(_ keychain: PrivateKeychain) async throws {
        let command = try await ChildProcess.start(
            Programs.touchstone,
            ["set", "k", "--require", "finger", "--from-file", "/etc/hostname"],
            environment: ["TOUCHSTONE_HOME": keychain.home.path, "PATH": "/usr/bin:/bin"],
            log: keychain.home.appending("app")
        )
        #expect(try await command.waitUntilEnd() == 0)
    }

    /// Consumes the signals received so far.
    private static func drain(
        _ signals: inout AsyncStream<BusPeer.Signal>.AsyncIterator,
        _ listener: BusPeer,
        _ bus: PrivateBus
    ) async throws {
        let mark = try await BusPeer(address: bus.address)
        try await listener.subscribe("type='signal',member='Mark'")
        try await mark.emit(BusPeer.Signal("/mark", "tests.Mark", "Mark", []))
        while let signal = await signals.next(), signal.member != "Mark" {}
        await mark.close()
    }
}
