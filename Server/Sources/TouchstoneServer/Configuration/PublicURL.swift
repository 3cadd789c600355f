/// The parts of a URL in the configuration: `https://host[:port][/path]`, without query and fragment.
struct PublicURL: Sendable, Equatable {
    let scheme: String
    let host: String
    let port: Int?

    init?(_ text: String) {
        guard let separator = text.firstRange(of: "://") else { return nil }
        scheme = String(text[..<separator.lowerBound])
        guard scheme == "http" || scheme == "https" else { return nil }
        let rest = text[separator.upperBound...]
        guard !rest.contains(where: { "?#@ ".contains($0) }) else { return nil }
        let authority = rest.prefix { $0 != "/" }
        if authority.hasPrefix("[") {
            guard let end = authority.firstIndex(of: "]") else { return nil }
            host = String(authority[...end])
            let tail = authority[authority.index(after: end)...]
            guard tail.isEmpty || tail.hasPrefix(":") else { return nil }
            port = tail.isEmpty ? nil : Int(tail.dropFirst())
            guard tail.isEmpty || port != nil else { return nil }
        } else {
            let parts = authority.split(separator: ":", omittingEmptySubsequences: false)
            guard parts.count <= 2, let name = parts.first, !name.isEmpty else { return nil }
            host = String(name)
            port = parts.count == 2 ? Int(parts[1]) : nil
            guard parts.count == 1 || port != nil else { return nil }
        }
    }

    /// Scheme, host and port, as browsers serialise an origin.
    var origin: String {
        let standard = scheme == "https" ? 443 : 80
        guard let port, port != standard else { return "\(scheme)://\(host)" }
        return "\(scheme)://\(host):\(port)"
    }

    /// Whether it is only reachable from this machine.
    var isLoopback: Bool {
        ["localhost", "127.0.0.1", "[::1]"].contains(host) || host.hasSuffix(".localhost")
    }
}
