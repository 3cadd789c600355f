internal import HTTPTypes
internal import HummingbirdCore

/// The request's field `Host`, which must be there once (RFC 9112, section 3.2): proxies that see another one than the
/// server would take a request for one of another site.
///
/// The server does not use its value. ``OldVersion`` adds an empty one to requests of HTTP/1.0.
enum HostField {
    /// - Throws: ``Problem`` with `invalid_request`.
    static func check(_ request: Request) throws(Problem) {
        // The first one is the authority, and not among the fields.
        guard let host = request.head.authority else {
            throw Problem(.invalidRequest, "the field Host is missing")
        }
        guard !request.headers.contains(.known("Host")) else {
            throw Problem(.invalidRequest, "the field Host comes twice")
        }
        guard host.utf8.allSatisfy(isAllowed) else {
            throw Problem(.invalidRequest, "the field Host has a character that no host has")
        }
    }

    /// Characters of `uri-host [ ":" port ]` (RFC 3986, section 3.2.2).
    private static func isAllowed(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"):
            true
        default: "-._~%!$&'()*+,;=:[]".utf8.contains(byte)
        }
    }
}
