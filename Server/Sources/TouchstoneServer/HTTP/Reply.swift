internal import HTTPTypes
internal import Hummingbird
internal import HummingbirdCore
internal import NIOCore
internal import RelyingParty
internal import WebAuthnModel

/// What an operation answers.
struct Reply: Sendable {
    var status: HTTPResponse.Status
    var fields: HTTPFields = [:]
    var body: Body

    enum Body: Sendable {
        case none
        case json(JSONValue, type: String)
        case text(String, type: String)
    }

    static func json(_ value: JSONValue, status: HTTPResponse.Status = .ok) -> Reply {
        Reply(status: status, body: .json(value, type: "application/json"))
    }

    static let noContent = Reply(status: .noContent, body: .none)

    static func text(_ text: String, type: String, status: HTTPResponse.Status = .ok) -> Reply {
        Reply(status: status, body: .text(text, type: type))
    }

    func with(_ name: HTTPField.Name, _ value: String) -> Reply {
        var reply = self
        reply.fields[name] = value
        return reply
    }

    /// - Throws: ``CanonicalJSON/Unsupported`` for a value that has no canonical form, which is a defect.
    func response() throws -> Response {
        var fields = fields
        let bytes: [UInt8]
        switch body {
        case .none: return Response(status: status, headers: fields)
        case .json(let value, let type):
            fields[.contentType] = type
            bytes = try CanonicalJSON.encode(value)
        case .text(let text, let type):
            fields[.contentType] = type
            bytes = Array(text.utf8)
        }
        fields[.contentLength] = "\(bytes.count)"
        return Response(
            status: status,
            headers: fields,
            body: ResponseBody(byteBuffer: ByteBuffer(bytes: bytes))
        )
    }
}

extension HTTPField.Name {
    /// RFC 9449.
    static let dpop = Self("DPoP")!
    /// RFC 9449, section 8.
    static let dpopNonce = Self("DPoP-Nonce")!
    static let retryAfter = Self("Retry-After")!
    static let requestID = Self("X-Request-Id")!
    static let forwardedFor = Self("X-Forwarded-For")!
    static let traceParent = Self("traceparent")!
}
