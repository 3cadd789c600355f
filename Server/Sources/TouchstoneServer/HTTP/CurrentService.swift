internal import Synchronization

/// The service in force: replaced as a whole when settings are read again, so that a request sees only former settings or
/// only new ones.
final class CurrentService: Sendable {
    private let current: Mutex<Service>

    init(_ service: Service) { current = Mutex(service) }

    /// The service; a request takes it once.
    var value: Service { current.withLock { $0 } }

    /// Replaces it; requests in progress end with the former one.
    func replace(with service: Service) { current.withLock { $0 = service } }
}
