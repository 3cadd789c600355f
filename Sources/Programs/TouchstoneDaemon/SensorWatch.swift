import Desk
import KeychainModel
import ServiceLifecycle

/// Tells those who watch that a sensor came or went, or that its fingers may be others.
///
/// fprintd announces an enrolment alone: for a sensor that is plugged and a finger that is deleted it is asked, and only
/// while somebody watches who wants to know of the sensor.
struct SensorWatch: Service {
    let reader: any FingerprintReader
    let watchers: Watchers
    /// How often it is asked.
    var pause = Duration.seconds(2)

    func run() async throws {
        await cancelWhenGracefulShutdown {
            await withTaskGroup { group in
                group.addTask { await hear() }
                group.addTask { await look() }
            }
        }
        try? await gracefulShutdown()
    }

    private func hear() async {
        for await change in await reader.changes() where change != .suspend { watchers.tell(.sensor) }
    }

    private func look() async {
        for await _ in watchers.arrivals {
            // What was seen before somebody watched is not known to have been told.
            var last: Seen?
            while watchers.areAboutSensor, (try? await Task.sleep(for: pause)) != nil {
                guard watchers.areAboutSensor else { break }
                let now = await Seen(reader)
                if now != last { watchers.tell(.sensor) }
                last = now
            }
        }
    }

    private enum Seen: Equatable {
        case enrolment(Enrolment)
        case fault(FingerprintError)

        init(_ reader: any FingerprintReader) async {
            do throws(FingerprintError) {
                self = .enrolment(try await reader.enrolment())
            } catch {
                self = .fault(error)
            }
        }
    }
}
