import KeychainModel
import Testing
import TouchstoneTesting

@testable import Desk
@testable import TouchstoneDaemon

@Suite("Watching the sensor")
struct SensorWatchTests {
    private let reader = ScriptedReader()
    private let watchers = Watchers()

    /// Whether a watcher is told of the sensor within the time; with `asking`, it queries all the while.
    private func isTold(
        _ watcher: Watcher,
        asking: Bool = true,
        within time: Duration
    ) async throws -> Bool {
        let deadline = ContinuousClock.now + time
        repeat {
            if asking { watchers.noteQuestion() }
            if watcher.take().changes.contains(where: { $0.kind == .sensor }) { return true }
            try await Task.sleep(for: .milliseconds(10))
        } while .now < deadline
        return false
    }

    @Test("the sensor is observed only while a watcher queries capabilities")
    func looks() async throws {
        let watch = SensorWatch(reader: reader, watchers: watchers, pause: .milliseconds(20))
        let task = Task { try await watch.run() }
        defer { task.cancel() }
        let watcher = try #require(watchers.add(1))
        #expect(!watchers.areAboutSensor)
        #expect(try await !isTold(watcher, asking: false, within: .seconds(1)))

        // It is unknown whether the first observation was reported before.
        #expect(try await isTold(watcher, within: .seconds(60)))
        reader.enrol(.failure(FingerprintError(.noSuchDevice)))
        #expect(try await isTold(watcher, within: .seconds(60)))
        // An unchanged state is not reported.
        #expect(try await !isTold(watcher, within: .seconds(1)))

        #expect(watchers.areAboutSensor)
        watchers.remove(1)
        #expect(!watchers.areAboutSensor)
    }
}
