import Glibc
import KeychainClient
import KeychainModel
import TouchstoneTesting

/// An item that requires a finger, on a private bus with a scripted fprintd.
enum FingerRows {
    /// How long the daemon shows a box before it arms the sensor.
    static let guardTime: Nanoseconds = 500_000_000

    static func measure(_ programs: Programs, _ scale: Scale, into table: inout Table) async throws {
        let bus = try await PrivateBus.start(sensors: [])
        let fprintd = try await ScriptedFprintd.start(on: bus)
        let keychain = try BenchKeychain(programs, busAddress: bus.address)
        try await keychain.setUp()
        let client = keychain.connect()
        let prompt = keychain.prompt
        _ = try client.add(BenchItem.add(0, flags: .biometryAny, prompt: prompt))

        var arming: [Nanoseconds] = []
        var armingAfterBox: [Nanoseconds] = []
        var release: [Nanoseconds] = []
        // The first touch is not counted, because the daemon connects to the bus.
        for touch in 0...scale.touches {
            let begin = Stopwatch.now()
            let call = BackgroundCall { _ = try client.copy(BenchItem.copy(0, prompt: prompt)) }
            let armed = try wait(for: call) {
                fprintd.calls.count { $0.hasPrefix("VerifyStart") } == touch + 1
            }
            // A real finger does not touch at once either.
            usleep(20_000)
            let touched = Stopwatch.now()
            try await fprintd.announce(.match)
            let done = try call.end()
            try await fprintd.waitUntilCalled("Release", times: touch + 1)
            guard touch > 0 else { continue }
            arming.append(armed - begin - guardTime)
            armingAfterBox.append(armed - (try keychain.noted("shown")) - guardTime)
            release.append(done - touched)
        }
        try await keychain.stop()
        await bus.stop()
        table.add(
            Row(
                "finger: request to VerifyStart, less 500 ms guard",
                ours: Figure(arming.median),
                atMost: .milliseconds(5)
            )
        )
        table.add(
            Row("finger: of that, after the box was visible", ours: Figure(armingAfterBox.median))
        )
        table.add(
            Row(
                "finger: match to secret in the client",
                ours: Figure(release.median),
                atMost: .milliseconds(5)
            )
        )
    }

    /// Polls at short intervals for a call that fprintd receives.
    private static func wait(for call: BackgroundCall, until condition: () -> Bool) throws -> Nanoseconds {
        let begin = Stopwatch.now()
        while !condition() {
            guard !call.hasEnded else {
                _ = try call.end()
                throw BenchError("the item was read without a finger")
            }
            guard Stopwatch.now() - begin < 10_000_000_000 else {
                throw BenchError("the sensor was never armed")
            }
            usleep(50)
        }
        return Stopwatch.now()
    }
}
