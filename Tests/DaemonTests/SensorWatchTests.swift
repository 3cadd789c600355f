import KeychainModel
import Testing
import TouchstoneTesting

@testable import Desk
@testable import TouchstoneDaemon

@Suite("Looking at the sensor")
struct SensorWatchTests {
    private let reader = ScriptedReader()
    private let watchers = Watchers()

    /// Whether a watcher is told of the sensor before the time is over; one that asks does so all the while.
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

    @Test("is done while somebody watches who asks for it, and not for who only hears what happens")
    func looks() async throws {
        let watch = SensorWatch(reader: reader, watchers: watchers, pause: .milliseconds(20))
        let task = Task { try await watch.run() }
        defer { task.cancel() }
        let watcher = try #require(watchers.add(1))
        #expect(!watchers.areAboutSensor)
        #expect(try await !isTold(watcher, asking: false, within: .seconds(1)))

        // Nobody knows whether the first thing that is seen was told.
        #expect(try await isTold(watcher, within: .seconds(60)))
        reader.enrol(.failure(FingerprintError(.noSuchDevice)))
        #expect(try await isTold(watcher, within: .seconds(60)))
        // What stays as it is is not told.
        #expect(try await !isTold(watcher, within: .seconds(1)))

        #expect(watchers.areAboutSensor)
        watchers.remove(1)
        #expect(!watchers.areAboutSensor)
    }
}
