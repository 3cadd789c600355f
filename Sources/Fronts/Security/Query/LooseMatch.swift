import Foundation
import KeychainClient
import KeychainModel

/// Matches that the daemon cannot make, because it compares digests: they are made here, on attributes, and the
/// final look-up names the items by reference.
struct LooseMatch: Sendable {
    /// `kSecMatchHostOrSubdomainOfHost`: the server is this host or a subdomain of it.
    var host: String?
    /// `kSecMatchCaseInsensitive`.
    var isCaseInsensitive = false

    /// Whether the query has no such match.
    var isEmpty: Bool { host == nil && !isCaseInsensitive }

    /// The look-up of the items that match; shows no prompt.
    ///
    /// - Throws: `errSecItemNotFound` if there is none, `errSecParam` if there are more than a look-up can
    ///   name.
    func resolve(_ request: CopyItems) throws(KeychainError) -> CopyItems {
        let wanted = request.query
        var loose = wanted
        loose.limit = .all
        loose.returns = [.attributes, .persistentRef]
        if isCaseInsensitive { loose.attributes = wanted.attributes.filter { !isText($0.value) } }
        let found = try KeychainConnection.current.copy(
            CopyItems(query: loose, context: request.context, prompt: request.prompt)
        )
        var references: [PersistentReference] = []
        found.forEach { item in
            guard let attributes = item.attributes, let reference = item.reference else { return }
            if accepts(attributes, wanted.attributes) { references.append(reference) }
        }
        switch wanted.limit {
        case .one: references = Array(references.prefix(1))
        case .count(let count): references = Array(references.prefix(count))
        case .all: break
        }
        guard !references.isEmpty else { throw KeychainError(.itemNotFound) }
        guard references.count <= ItemLimits.mostReferences else { throw .param("too many matches") }
        var named = wanted
        named.attributes = [:]
        named.references = references
        return CopyItems(query: named, context: request.context, prompt: request.prompt)
    }

    private func accepts(_ attributes: ItemAttributes, _ wanted: ItemAttributes) -> Bool {
        if let host {
            guard case .string(let found)? = attributes[.server] else { return false }
            let (server, wanted) = (found.lowercased(), host.lowercased())
            guard server == wanted || server.hasSuffix(".\(wanted)") else { return false }
        }
        guard isCaseInsensitive else { return true }
        return wanted.allSatisfy { key, value in
            guard case .string(let text) = value else { return true }
            guard case .string(let found)? = attributes[key] else { return false }
            return found.compare(text, options: .caseInsensitive) == .orderedSame
        }
    }

    private func isText(_ value: AttributeValue) -> Bool {
        // The daemon itself matches this value, which is not text although it is encoded as such.
        if case .string = value, value != .anySynchronizable { true } else { false }
    }
}
