internal import Glibc

/// How many connections a process can have: an accept that finds no free descriptor would end the server.
enum Descriptors {
    /// What stays for the store, the log, files and the admin port.
    private static let reserved = 192
    /// As many connections at most, whatever the system allows: each costs memory.
    private static let most = 16_384
    /// Connections of the admin port.
    static let adminConnections = 64

    /// Takes as many descriptors as the system allows, and says how many connections of the API fit into them.
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
