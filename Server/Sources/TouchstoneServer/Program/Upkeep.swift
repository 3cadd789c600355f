internal import AccountStore
internal import Logging
internal import ServiceLifecycle

/// Purges expired rows from the store, a part at a time; several servers may do so on one store.
struct Upkeep: ServiceLifecycle.Service {
    private let current: CurrentService

    private static let interval = Duration.seconds(60)

    init(_ current: CurrentService) { self.current = current }

    func run() async throws {
        await cancelWhenGracefulShutdown {
            while !Task.isCancelled {
                let service = current.value
                do throws(StoreError) { try await purge(service) } catch {
                    service.logger.error("upkeep: \(error)")
                }
                do { try await Task.sleep(for: Self.interval) } catch { return }
            }
        }
    }

    private func purge(_ service: Service) async throws(StoreError) {
        let hours = service.configuration.auditRetention
        let settings = PurgeSettings(
            // A century stands for no limit, so that times do not overflow.
            auditRetention: hours == 0 ? .seconds(100 * 366 * 86_400) : .seconds(hours * 3600)
        )
        var cursor: PurgeCursor?
        repeat {
            let part = try await service.store.purge(from: cursor, settings, now: .now)
            cursor = part.next
        } while cursor != nil && !Task.isCancelled
    }
}
