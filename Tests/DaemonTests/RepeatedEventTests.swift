import KeychainModel
import Synchronization
import Testing
import TouchstoneTesting

@testable import TouchstoneDaemon

@Suite("Events that others can cause at will")
struct RepeatedEventTests {
    private final class Audit: AuditLog {
        let events = Mutex<[AuditEvent]>([])
        func record(_ event: AuditEvent) { events.withLock { $0.append(event) } }
        var details: [String] { events.withLock { $0.map(\.detail) } }
    }

    @Test("the first of repeated events is logged immediately, and their number after the pause")
    func counted() async throws {
        let audit = Audit()
        let event = RepeatedEvent(.forgedSignal, audit, pause: .seconds(5))
        for _ in 0..<10_000 { event.record() }
        #expect(audit.details == [""])
        try await Deadline.wait(for: "the count") { audit.details.count > 1 ? true : nil }
        #expect(audit.details == ["", "9999 more"])
        event.record()
        try await Deadline.wait(for: "the next count") { audit.details.count > 2 ? true : nil }
        // On a machine that stands still for the pause it is the first one again.
        #expect(audit.details.prefix(2) == ["", "9999 more"] && ["1 more", ""].contains(audit.details[2]))
    }
}
