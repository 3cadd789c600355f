internal import HTTPTypes
internal import Hummingbird
internal import HummingbirdCore
internal import NIOCore
internal import RelyingParty
internal import WebAuthnModel

/// The response of an operation.
struct Reply: Sendable {
    var status: HTTPResponse.Status
    var fields: HTTPFields = [:]
    var body: Body

    enum Body: Sendable {
        case none
        case json(JSONValue, type: String)
        case text(String, type: String)
        case bytes([UInt8], type: String)
    }

    static func json(_ value: JSONValue, status: HTTPResponse.Status = .ok) -> Reply {
        Reply(status: status, body: .json(value, type: "application/json"))
    }

    static let noContent = Reply(status: .noContent, body: .none)

    static func text(_ text: String, type: String, status: HTTPResponse.Status = .ok) -> Reply {
        Reply(status: status, body: .text(text, type: type))
    }

    static func bytes(_ bytes: [UInt8], type: String) -> Reply {
        Reply(status: .ok, body: .bytes(bytes, type: type))
    }

    func with(_ name: HTTPField.Name, _ value: String) -> Reply {
        var reply = self
        reply.fields[name] = value
        return reply
    }

    /// - Throws: ``CanonicalJSON/Unsupported`` for a value without a canonical form, which is a defect.
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
        case .bytes(let content, let type):
            fields[.contentType] = type
            bytes = content
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
    static let dpop = known("DPoP")
    /// RFC 9449, section 8.
    static let dpopNonce = known("DPoP-Nonce")
    static let retryAfter = known("Retry-After")
    static let requestID = known("X-Request-Id")
    static let traceParent = known("traceparent")

    /// Creates a field name from a literal.
    static func known(_ text: String) -> Self {
        guard let name = Self(text) else { preconditionFailure("\(text) is no name of a field") }
        return name
    }
}
