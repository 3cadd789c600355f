/// What a client stores beside a secret.
package struct SecretItemContent: Sendable, Equatable {
    /// The most attributes.
    package static let mostAttributes = 48
    /// The most bytes of all names and values of attributes together.
    package static let longestAttributes = 16 << 10
    /// The longest label, in bytes.
    package static let longestLabel = 4096
    /// The longest content type, in bytes.
    package static let longestContentType = 256

    /// The name that people see.
    package var label: String
    /// What programs find it by.
    package var attributes: [String: String]
    /// The MIME type of the secret.
    package var contentType: String

    /// Describes the content.
    package init(label: String = "", attributes: [String: String] = [:], contentType: String = "text/plain") {
        self.label = label
        self.attributes = attributes
        self.contentType = contentType
    }

    /// Why it cannot be stored: one clause; nil if it can.
    package var fault: String? {
        if let fault = Self.fault(in: attributes) { return fault }
        guard label.utf8.count <= Self.longestLabel, contentType.utf8.count <= Self.longestContentType else {
            return "a label has at most \(Self.longestLabel) bytes, a content type \(Self.longestContentType)"
        }
        return nil
    }

    /// Why there can be no item with these attributes: one clause; nil if there can.
    package static func fault(in attributes: [String: String]) -> String? {
        let octets = attributes.reduce(0) { $0 + $1.key.utf8.count + $1.value.utf8.count }
        guard attributes.count <= mostAttributes, octets <= longestAttributes else {
            return "an item has at most \(mostAttributes) attributes of \(longestAttributes) bytes together"
        }
        return attributes.keys.contains("") ? "an attribute has no name" : nil
    }
}
