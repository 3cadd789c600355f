public import CBOR

/// Asks for a quote of the boot state: a nonce of the server, as bytes.
public struct BootQuoteRequest: WireBody, Sendable, Equatable {
    /// The nonce, at most ``BootQuote/mostNonce`` bytes.
    public let nonce: [UInt8]

    /// Describes the request.
    public init(nonce: [UInt8]) { self.nonce = nonce }

    /// Writes the request.
    public func encode(to writer: inout WireWriter) { writer.write(bytes: nonce) }

    /// Reads the request.
    public init(from reader: inout CBORReader) throws {
        nonce = try reader.readBytes()
        guard nonce.count <= BootQuote.mostNonce else { throw KeychainError(.param) }
    }
}

extension BootQuote: WireBody {
    /// The longest statement or signature that is read, in bytes.
    private static let longestPart = 1024

    /// Writes `[statement, signature]`.
    public func encode(to writer: inout WireWriter) {
        writer.writeArrayHead(count: 2)
        writer.write(bytes: statement)
        writer.write(bytes: signature)
    }

    /// Reads a quote.
    public init(from reader: inout CBORReader) throws {
        try reader.readFields(2)
        self.init(statement: try reader.readBytes(), signature: try reader.readBytes())
        guard max(statement.count, signature.count) <= Self.longestPart else { throw WireError.malformed }
    }
}
