import CBOR
import KeychainModel
import SecretMemory

/// A message that the product's encoder made from a fixed value, and the product's decoder for its bytes.
struct GoldenMessage {
    /// Unique in its file, and what a reviewer reads.
    let name: String
    /// The method it belongs to; nil for none.
    var method: Method?
    /// The encoded value.
    let octets: [UInt8]
    /// Decodes bytes and encodes the result.
    ///
    /// No encoder writes two values as the same bytes (``PinnedMessageTests`` compares those of a method), so equal
    /// bytes are equal values, also where a type that owns a secret has no `==`.
    let recoded: (_ octets: [UInt8]) throws -> [UInt8]
    /// Whether bytes decode to a value that is `==` to the original; nil for types without `==`.
    var isEqual: ((_ octets: [UInt8]) throws -> Bool)?
}

extension GoldenMessage {
    /// The number of every request here.
    static let id: UInt64 = 300

    /// A request.
    static func request<Body: WireBody & ~Copyable>(
        _ method: Method,
        _ variant: String,
        _ body: borrowing Body
    ) throws -> Self {
        let head = RequestHead(id: id, method: method)
        let message = try head.message(body)
        return Self(name: "\(method): \(variant)", method: method, octets: message.copied) { octets in
            try read(octets) { reader in
                let head = try RequestHead(from: &reader)
                return try head.message(try Body(from: &reader)).copied
            }
        }
    }

    /// A reply without failure.
    static func reply<Body: WireBody & ~Copyable>(
        _ method: Method,
        _ variant: String,
        more: Bool = false,
        _ body: borrowing Body
    ) -> Self {
        let message = ReplyHead(id: id, more: more).message(body)
        return Self(name: "\(method): \(variant)", method: method, octets: message.copied) { octets in
            try read(octets) { reader in
                let head = try ReplyHead(from: &reader)
                return head.message(try Body(from: &reader)).copied
            }
        }
    }

    /// A request whose value can be compared.
    static func request<Body: WireBody & Equatable>(
        _ method: Method,
        comparing variant: String,
        _ body: Body
    ) throws -> Self {
        var message = try request(method, variant, body)
        message.isEqual = { octets in
            try read(octets) { reader in
                try RequestHead(from: &reader) == RequestHead(id: id, method: method)
                    && Body(from: &reader) == body
            }
        }
        return message
    }

    /// A reply whose value can be compared.
    static func reply<Body: WireBody & Equatable>(
        _ method: Method,
        comparing variant: String,
        more: Bool = false,
        _ body: Body
    ) -> Self {
        var message = reply(method, variant, more: more, body)
        message.isEqual = { octets in
            try read(octets) { reader in
                try ReplyHead(from: &reader) == ReplyHead(id: id, more: more) && Body(from: &reader) == body
            }
        }
        return message
    }

    /// A failed reply.
    static func failure(_ name: String, _ error: KeychainError) -> Self {
        let message = ReplyHead(id: id, status: error.status).message(Failure(error))
        return Self(
            name: name,
            octets: message.copied,
            recoded: { octets in
                try read(octets) { reader in
                    let head = try ReplyHead(from: &reader)
                    return head.message(try Failure(from: &reader, status: head.status)).copied
                }
            },
            isEqual: { octets in
                try read(octets) { reader in
                    let head = try ReplyHead(from: &reader)
                    let decoded = try Failure(from: &reader, status: head.status).error
                    return decoded.status == error.status && decoded.cause == error.cause
                        && decoded.remedy == error.remedy
                        && decoded.authentication?.code == error.authentication?.code
                }
            }
        )
    }

    /// Reads one message within the limits of the socket.
    static func read<R>(_ octets: [UInt8], _ body: (inout CBORReader) throws -> R) throws -> R {
        try CBORReader.read(octets, limits: Frame.limits, body)
    }
}

extension SecretBuffer {
    /// A copy that is not secret.
    var copied: [UInt8] { withOctets { span in span.indices.map { span[$0] } } }
}
