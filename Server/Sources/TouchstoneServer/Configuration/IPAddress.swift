internal import Foundation

/// An IP address; an IPv4 address in IPv6 form is the IPv4 address.
public struct IPAddress: Hashable, Sendable, CustomStringConvertible {
    /// 4 or 16 bytes.
    let bytes: [UInt8]

    /// Parses an address, also with a port (`192.0.2.1:443`, `[2001:db8::1]:443`), which is dropped; nil for anything
    /// else, such as a name.
    public init?(_ text: some StringProtocol) {
        var host = Substring(text)
        if host.hasPrefix("[") {
            guard let end = host.firstIndex(of: "]"), Self.isPort(host[host.index(after: end)...]) else {
                return nil
            }
            host = host[host.index(after: host.startIndex)..<end]
            guard host.contains(":") else { return nil }
        } else if let colon = host.firstIndex(of: ":"), colon == host.lastIndex(of: ":") {
            guard Self.isPort(host[colon...]) else { return nil }
            host = host[..<colon]
        }
        guard let bytes = Self.parse(String(host)) else { return nil }
        self.init(bytes: bytes)
    }

    private init(bytes: [UInt8]) {
        let mapped: [UInt8] = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF]
        self.bytes = bytes.count == 16 && bytes.starts(with: mapped) ? Array(bytes.suffix(4)) : bytes
    }

    /// Nothing, or a colon and digits.
    private static func isPort(_ text: Substring) -> Bool {
        text.isEmpty
            || text.hasPrefix(":") && text.utf8.count > 1 && text.utf8.count <= 6
                && text.utf8.dropFirst().allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
    }

    private static func parse(_ host: String) -> [UInt8]? {
        // C stops at a NUL.
        guard host.utf8.count <= 45, !host.utf8.contains(0) else { return nil }
        let family = host.utf8.contains(UInt8(ascii: ":")) ? AF_INET6 : AF_INET
        var bytes = [UInt8](repeating: 0, count: family == AF_INET6 ? 16 : 4)
        let isParsed = unsafe bytes.withUnsafeMutableBytes { unsafe inet_pton(family, host, $0.baseAddress) }
        return isParsed == 1 ? bytes : nil
    }

    /// The usual text: dotted for IPv4, RFC 5952 for IPv6.
    public var description: String { Self.text(bytes) }

    private static func text(_ bytes: [UInt8]) -> String {
        var text = [CChar](repeating: 0, count: 64)
        let family = bytes.count == 16 ? AF_INET6 : AF_INET
        _ = unsafe bytes.withUnsafeBytes { source in
            unsafe text.withUnsafeMutableBufferPointer { target in
                unsafe inet_ntop(family, source.baseAddress, target.baseAddress, 64)
            }
        }
        return String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    /// What limits count as one address: an IPv4 address, or the /64 that an IPv6 host chooses its addresses from.
    var limitSubject: String {
        guard bytes.count == 16 else { return description }
        return Self.text(Array(bytes.prefix(8)) + [UInt8](repeating: 0, count: 8)) + "/64"
    }
}

/// An address or a network in CIDR notation (RFC 4632, RFC 4291).
public struct IPNetwork: Hashable, Sendable, CustomStringConvertible {
    private let address: IPAddress
    private let prefix: Int

    /// Parses `192.0.2.1`, `10.0.0.0/8` or `2001:db8::/32`; nil for anything else: also for a network with bits beyond
    /// its prefix, and for `/0`, which is everybody.
    public init?(_ text: some StringProtocol) {
        let parts = text.split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count <= 2, !parts[0].contains("["), let address = IPAddress(parts[0]),
            // Without a port, and not an IPv4 address in IPv6 form.
            address.description.contains(":") == parts[0].contains(":")
        else { return nil }
        let length = address.bytes.count * 8
        guard parts.count == 2 else {
            self.address = address
            self.prefix = length
            return
        }
        guard parts[1].utf8.count <= 3, parts[1].allSatisfy(\.isNumber), let count = Int(parts[1]),
            (1...length).contains(count)
        else { return nil }
        self.address = address
        self.prefix = count
        guard (count..<length).allSatisfy({ address.bytes[$0 / 8] & (0x80 >> ($0 % 8)) == 0 }) else {
            return nil
        }
    }

    /// Whether the address belongs to the network.
    func contains(_ other: IPAddress) -> Bool {
        guard other.bytes.count == address.bytes.count else { return false }
        let whole = prefix / 8
        guard other.bytes.prefix(whole) == address.bytes.prefix(whole) else { return false }
        guard prefix % 8 != 0 else { return true }
        let mask = UInt8(truncatingIfNeeded: 0xFF00 >> (prefix % 8))
        return other.bytes[whole] & mask == address.bytes[whole]
    }

    /// The notation that ``init(_:)`` parses.
    public var description: String {
        prefix == address.bytes.count * 8 ? address.description : "\(address)/\(prefix)"
    }
}
