internal import WebAuthnModel

/// What the owner of a device consented to at its registration: the member `consent` of ``DeviceStatement``'s, which the key signed.
struct DeviceConsent: Equatable {
    /// The largest text, in bytes; a prompt of `Touchstone` has at most 480.
    private static let mostTextBytes = 2048
    /// The most lines: title, subtitle, reason, and eight items.
    private static let mostLines = 11

    /// The consent as canonical JSON.
    let json: String

    /// Extracts the consent from the client data; nil if there is none, or if it is not in the form that `TouchstoneLogin` writes.
    ///
    /// - Parameter clientDataJSON: The client data of a registration whose signature is verified.
    init?(in clientDataJSON: [UInt8]) {
        guard let data = try? JSONValue(parsing: clientDataJSON).object,
            let stated = data["touchstone"]?.object?["consent"]?.object,
            let lines = stated["text"]?.array, 1...Self.mostLines ~= lines.count,
            let label = Self.text(stated["label"], 128), let rule = Self.text(stated["rule"], 512),
            let server = Self.text(stated["server"], 512), let language = Self.language(stated["language"]),
            let time = stated["time"]?.integer, 0...CanonicalJSON.greatestInteger ~= time
        else { return nil }
        let texts = lines.compactMap { Self.text($0, Self.mostTextBytes) }
        guard texts.count == lines.count,
            let json = try? CanonicalJSON.encode(
                JSONValue(members: [
                    "text": .array(texts), "label": label, "rule": rule, "server": server,
                    "language": .string(language), "time": .integer(time),
                ])
            )
        else { return nil }
        self.json = String(decoding: json, as: UTF8.self)
    }

    /// The locale of the prompt's own words; English if the device named none.
    private static func language(_ value: JSONValue?) -> String? {
        value == nil ? "en" : text(value, 256)?.string
    }

    /// A text of at most so many bytes, with U+FFFD for what a line cannot show.
    private static func text(_ value: JSONValue?, _ most: Int) -> JSONValue? {
        guard let scalars = value?.string?.unicodeScalars else { return nil }
        let text = String(String.UnicodeScalarView(scalars.map { $0.properties.isShown ? $0 : "\u{FFFD}" }))
        return text.utf8.count <= most ? .string(text) : nil
    }
}
