internal import Foundation
internal import HTTPTypes
internal import HummingbirdCore
internal import NIOCore

/// The header field in which trusted proxies name the client.
public enum ClientAddressHeader: String, Sendable, CaseIterable {
    /// `X-Forwarded-For`: a list to which each proxy appends.
    case xForwardedFor = "x-forwarded-for"
    /// `Forwarded` (RFC 7239): a list with `for=`.
    case forwarded
    /// `X-Real-IP`: one address.
    case xRealIP = "x-real-ip"

    /// The named hops, the nearest last; text that is no address is kept, because the list ends there.
    func hops(in fields: HTTPFields) -> [String] {
        switch self {
        case .xForwardedFor: Self.elements(fields[.known("X-Forwarded-For")] ?? "", separator: ",")
        case .xRealIP: fields[.known("X-Real-IP")].map { [$0] } ?? []
        case .forwarded: Self.elements(fields[.known("Forwarded")] ?? "", separator: ",").map(Self.node)
        }
    }

    /// The node of `for=` in an element of `Forwarded`; empty: there is none.
    private static func node(_ element: String) -> String {
        for pair in elements(element, separator: ";") {
            let parts = pair.split(separator: "=", maxSplits: 1)
            guard parts.count == 2, parts[0].lowercased() == "for" else { continue }
            let value = parts[1]
            return value.count >= 2 && value.hasPrefix("\"") && value.hasSuffix("\"")
                ? String(value.dropFirst().dropLast()) : String(value)
        }
        return ""
    }

    /// The trimmed elements of a list; a separator within quotation marks is text.
    private static func elements(_ text: String, separator: Character) -> [String] {
        var elements = [""]
        var isQuoted = false
        for character in text {
            if character == "\"" { isQuoted.toggle() }
            if character == separator, !isQuoted {
                elements.append("")
            } else {
                elements[elements.count - 1].append(character)
            }
        }
        return elements.map { $0.trimmingCharacters(in: .whitespaces) }
    }
}

/// Finds the address of a request's client.
enum ClientAddress {
    /// The client's address by the settings.
    static func of(
        _ context: ServerContext,
        _ request: Request,
        _ configuration: ServerConfiguration
    ) -> String {
        of(
            peer: context.remoteAddress?.ipAddress,
            request.headers,
            configuration.clientAddressHeader,
            trusting: configuration.trustedProxies
        )
    }

    /// The peer's address or, behind trusted proxies, the nearest forwarded address that is not one of theirs.
    ///
    /// The list is read from its end, which the trusted proxies wrote; it ends at the first text that is no address.
    static func of(
        peer: String?,
        _ fields: HTTPFields,
        _ header: ClientAddressHeader,
        trusting proxies: [IPNetwork]
    ) -> String {
        guard let peer else { return "local" }
        guard let nearest = IPAddress(peer) else { return peer }
        func isTrusted(_ address: IPAddress) -> Bool { proxies.contains { $0.contains(address) } }
        guard isTrusted(nearest) else { return nearest.description }
        var client = nearest
        for hop in header.hops(in: fields).reversed() {
            guard let address = IPAddress(hop) else { break }
            client = address
            if !isTrusted(address) { break }
        }
        return client.description
    }
}
