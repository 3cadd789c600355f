public import CBOR

/// The daemon's first message: `[nonce, daemon version]`.
public struct Greeting: WireBody, Sendable, Equatable {
    /// The length of a nonce, in bytes.
    public static let nonceOctetCount = 16
    /// Random bytes of this connection.
    public let nonce: [UInt8]
    /// The daemon's version, for display.
    public let daemonVersion: String

    /// Creates a greeting.
    public init(nonce: [UInt8], daemonVersion: String) {
        self.nonce = nonce
        self.daemonVersion = daemonVersion
    }

    /// Writes the greeting.
    public func encode(to writer: inout WireWriter) {
        writer.writeArrayHead(count: 2)
        writer.write(bytes: nonce)
        writer.write(text: daemonVersion)
    }

    /// Reads a greeting.
    public init(from reader: inout CBORReader) throws {
        try reader.readFields(2)
        nonce = try reader.readBytes()
        guard nonce.count == Self.nonceOctetCount else { throw WireError.malformed }
        daemonVersion = try reader.readText()
    }
}

/// The client's first request: the nonce of the greeting.
public struct Hello: WireBody, Sendable, Equatable {
    /// The nonce of the greeting.
    public let nonce: [UInt8]

    /// Answers a greeting.
    public init(nonce: [UInt8]) { self.nonce = nonce }

    /// Writes the nonce.
    public func encode(to writer: inout WireWriter) { writer.write(bytes: nonce) }

    /// Reads a nonce.
    public init(from reader: inout CBORReader) throws { nonce = try reader.readBytes() }
}

/// Cancels another request of the same connection: its id.
public struct CancelRequest: WireBody, Sendable, Equatable {
    /// The id of the request to cancel.
    public let id: UInt64

    /// Identifies a request.
    public init(id: UInt64) { self.id = id }

    /// Writes the id.
    public func encode(to writer: inout WireWriter) { writer.write(unsigned: id) }

    /// Reads an id.
    public init(from reader: inout CBORReader) throws { id = try reader.readUnsigned() }
}

/// The prompt fields of a request.
///
/// `[terminal, terminal type, display, wayland display, x authority, character type, language, reason, title, subtitle, items,
/// cancel title, fallback titles, interaction allowed, tells misses]`.
public struct PromptFields: WireBody, Sendable, Equatable {
    /// The longest text, in bytes; longer ones are refused.
    public static let longestText = 4096
    /// Where the request came from.
    public var origin: PromptOrigin
    /// The app's reason text.
    public var reason: String
    /// What the app says beside its reason.
    public var details: PromptDetails
    /// The title of the cancel button.
    public var cancelTitle: String?
    /// The titles of the fallback buttons; nil for the default button, empty for none.
    public var fallbackTitles: [String]?
    /// Whether a prompt may be shown.
    public var interactionAllowed: Bool
    /// Whether the client receives a ``MissedTouch`` for each touch that misses while the prompt stays.
    public var tellsMisses: Bool

    /// Describes the prompts of a request.
    public init(
        origin: PromptOrigin = PromptOrigin(),
        reason: String = "",
        details: PromptDetails = PromptDetails(),
        cancelTitle: String? = nil,
        fallbackTitles: [String]? = nil,
        interactionAllowed: Bool = true,
        tellsMisses: Bool = false
    ) {
        self.origin = origin
        self.reason = reason
        self.details = details
        self.cancelTitle = cancelTitle
        self.fallbackTitles = fallbackTitles
        self.interactionAllowed = interactionAllowed
        self.tellsMisses = tellsMisses
    }

    /// The fields as the engine's prompt request, with the caller that the kernel reported.
    public func request(by caller: Caller) -> PromptRequest {
        var origin = origin
        origin.client = PromptClient(process: caller.pid, start: caller.processStart)
        return PromptRequest(
            caller: caller,
            origin: origin,
            reason: reason,
            details: details,
            cancelTitle: cancelTitle,
            fallbackTitles: fallbackTitles,
            interactionAllowed: interactionAllowed
        )
    }

    /// Writes the fields.
    public func encode(to writer: inout WireWriter) {
        writer.writeArrayHead(count: 15)
        writer.write(optionalText: origin.terminal)
        writer.write(optionalText: origin.terminalType)
        writer.write(optionalText: origin.display)
        writer.write(optionalText: origin.waylandDisplay)
        writer.write(optionalText: origin.xAuthority)
        writer.write(optionalText: origin.characterType)
        writer.write(optionalText: origin.language)
        writer.write(text: reason)
        writer.write(details)
        writer.write(optionalText: cancelTitle)
        writer.write(fallbacks: fallbackTitles)
        writer.write(interactionAllowed)
        writer.write(tellsMisses)
    }

    /// Reads the fields.
    public init(from reader: inout CBORReader) throws {
        try reader.readFields(15)
        let text: (inout CBORReader) throws -> String = { reader in
            let text = try reader.readText()
            guard text.utf8.count <= Self.longestText, !text.utf8.contains(0) else {
                throw WireError.malformed
            }
            return text
        }
        origin = PromptOrigin(
            terminal: try reader.readOptional(text),
            terminalType: try reader.readOptional(text),
            display: try reader.readOptional(text),
            waylandDisplay: try reader.readOptional(text),
            xAuthority: try reader.readOptional(text),
            characterType: try reader.readOptional(text),
            language: try reader.readOptional(text)
        )
        reason = try text(&reader)
        details = try reader.readDetails(text)
        cancelTitle = try reader.readOptional(text)
        fallbackTitles = try reader.readFallbacks(text)
        interactionAllowed = try reader.readBool()
        tellsMisses = try reader.readBool()
    }
}
