internal import AccountStore
internal import AsyncHTTPClient
internal import Logging
internal import ServiceLifecycle

/// Delivers notices to the mail hook.
///
/// No request waits for it. Several servers may share a store: each notice is taken by one of them at a time. A notice is
/// delivered at least once, and again if a server ends between the delivery and its record.
struct MailService: ServiceLifecycle.Service {
    /// How many are delivered at a time.
    private static let atOnce = 4
    /// Longer than a delivery takes.
    private static let lease = MailHook.timeout + .seconds(60)

    private let current: CurrentService

    init(_ current: CurrentService) { self.current = current }

    func run() async throws {
        let client = MailWebhook.client()
        await cancelWhenGracefulShutdown {
            while !Task.isCancelled {
                let service = current.value
                if let hook = service.mailHook {
                    do throws(StoreError) {
                        while try await Self.deliver(by: hook, client, service, now: .now) > 0 {}
                    } catch {
                        service.logger.error("mail hook: \(error)")
                    }
                }
                let interval = service.configuration.mailInterval
                do { try await Task.sleep(for: interval) } catch { return }
            }
        }
        try await client.shutdown()
    }

    /// Delivers some of the notices that are due.
    ///
    /// - Returns: how many were taken.
    /// - Throws: ``StoreError``.
    static func deliver(
        by hook: MailHook,
        _ client: HTTPClient,
        _ service: Service,
        now: Timestamp
    ) async throws(StoreError) -> Int {
        let notices = try await service.store.takeNotices(count: atOnce, until: now + lease, now: now)
        let results = await withTaskGroup(of: Result<Void, StoreError>.self) { group in
            for notice in notices {
                group.addTask {
                    do throws(StoreError) {
                        return .success(try await deliver(notice, by: hook, client, service, now: now))
                    } catch {
                        return .failure(error)
                    }
                }
            }
            return await group.reduce(into: []) { $0.append($1) }
        }
        for result in results { try result.get() }
        return notices.count
    }

    private static func deliver(
        _ notice: Notice,
        by hook: MailHook,
        _ client: HTTPClient,
        _ service: Service,
        now: Timestamp
    ) async throws(StoreError) {
        let message = notice.message(from: service.configuration.publicURL)
        let failure =
            now < notice.expiresAt ? await hook.deliver(message, client, now: now) : "it is too old"
        guard let failure else {
            try await service.store.removeNotice(notice.id)
            return service.metrics.mail("delivered")
        }
        let next = now + pause(after: notice.attempts)
        // Neither names nor links are logged.
        let text =
            "mail hook: \(notice.event.rawValue), attempt \(notice.attempts): \(LogEscapes.text(failure))"
        guard next < notice.expiresAt else {
            service.metrics.mail("given-up")
            service.logger.error("\(text); given up", metadata: ["trace": "\(notice.trace)"])
            return try await service.store.removeNotice(notice.id)
        }
        service.metrics.mail("failed")
        service.logger.warning("\(text); again later", metadata: ["trace": "\(notice.trace)"])
        try await service.store.postponeNotice(notice.id, until: next)
    }

    /// How long to wait after this number of attempts: from ten seconds to an hour.
    static func pause(after attempts: Int) -> Duration {
        switch attempts {
        case ..<2: .seconds(10)
        case 2: .seconds(60)
        case 3: .seconds(300)
        case 4: .seconds(1200)
        default: .seconds(3600)
        }
    }
}
