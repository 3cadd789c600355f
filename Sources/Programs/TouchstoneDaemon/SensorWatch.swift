import Desk
import KeychainModel
import ServiceLifecycle

/// Tells watchers that a sensor was plugged or unplugged, or that its fingers may have changed.
///
/// fprintd only announces an enrolment: to notice plugged sensors and deleted fingers it must be polled, which happens
/// only while a client watches the sensor.
struct SensorWatch: Service {
    let reader: any FingerprintReader
    let watchers: Watchers
    /// The polling interval.
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
            // Watchers may not have been told of the state before they came, so the first look always tells them.
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
