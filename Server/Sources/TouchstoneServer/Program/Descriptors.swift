internal import Glibc

/// The number of connections that a process can have: an accept without a free descriptor would end the server.
enum Descriptors {
    /// Descriptors reserved for the store, the log, files and the admin port.
    private static let reserved = 192
    /// The maximum number of connections, whatever the system allows: each costs memory.
    private static let most = 16_384
    /// The number of connections of the admin port.
    static let adminConnections = 64

    /// Raises the descriptor limit to the system's maximum, and returns how many API connections fit into it.
    static func connections() -> Int {
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return 512 }
        let wanted = min(limit.rlim_max, rlim_t(most + reserved))
        if limit.rlim_cur < wanted {
            limit.rlim_cur = wanted
            _ = setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
            _ = getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        }
        return max(min(Int(clamping: limit.rlim_cur), most + reserved) - reserved, 16)
    }
}
