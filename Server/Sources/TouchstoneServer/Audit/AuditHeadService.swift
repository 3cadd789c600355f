internal import AccountStore
internal import Dispatch
internal import Logging
internal import ServiceLifecycle

/// Appends heads of the audit to the file of the setting `audit-head-file`, at intervals.
///
/// Requests do not wait for it: it reads the store as an administrator does, a page at a time, and writes on a thread of its
/// own. Several servers may share the store and the file.
struct AuditHeadService: ServiceLifecycle.Service {
    private let current: CurrentService

    init(_ current: CurrentService) { self.current = current }

    func run() async throws {
        await cancelWhenGracefulShutdown {
            var last: AuditHead?
            while !Task.isCancelled {
                let service = current.value
                if let path = service.configuration.auditHeadFile {
                    do {
                        last = try await Self.append(to: AuditHeadFile(path: path), after: last, service)
                    } catch {
                        service.metrics.auditHead("failed")
                        service.logger.error("audit-head-file: \(error)")
                    }
                }
                let interval = Duration.seconds(service.configuration.auditHeadInterval)
                do { try await Task.sleep(for: interval) } catch { return }
            }
        }
    }

    /// Appends the heads of all records after the last head in the file, or after the one known if the file is empty.
    ///
    /// - Returns: the last head.
    /// - Throws: ``ConfigurationFault`` for the file; ``StoreError``.
    static func append(
        to file: AuditHeadFile,
        after known: AuditHead?,
        _ service: Service
    ) async throws -> AuditHead? {
        var last = try await onThread { () throws(ConfigurationFault) in try file.last() } ?? known
        while !Task.isCancelled {
            // With the last record that has a head.
            let after = last.map { $0.position - 1 } ?? 0
            let page = try await service.store.auditPage(after: after, count: AuditHead.mostRecords + 1)
            if let last, page.isEmpty {
                throw ConfigurationFault(
                    place: file.path,
                    reason: """
                        has the head of position \(last.position), but the audit log ends before: run touchstone-server \
                        verify-audit --head \(file.path), or move the file away if the database was restored
                        """
                )
            }
            let isKnown = last != nil && page.first?.position == last?.position
            let records = Array(page.dropFirst(isKnown ? 1 : 0).prefix(AuditHead.mostRecords))
            guard let head = AuditHead(of: records, following: last) else { break }
            let former = last
            let isAppended = try await onThread { () throws(ConfigurationFault) in
                try file.append(head, following: former)
            }
            // Another server does it.
            guard isAppended else { break }
            service.metrics.auditHead("written")
            last = head
            guard page.count > AuditHead.mostRecords else { break }
        }
        return last
    }

    /// Runs `body` where it may block, which threads of requests must not.
    private static func onThread<Value: Sendable>(
        _ body: @escaping @Sendable () throws(ConfigurationFault) -> Value
    ) async throws(ConfigurationFault) -> Value {
        let result: Result<Value, ConfigurationFault> = await withCheckedContinuation { continuation in
            DispatchQueue.global(qos: .utility).async {
                continuation.resume(returning: Result(catching: body))
            }
        }
        return try result.get()
    }
}
