import KeychainClient
import SecretMemory

/// Secrets released together: the authentication for the strictest one also covers all that require no more.
final class ReleasedSecrets {
    private final class Held {
        let secret: SecretBytes
        init(_ secret: consuming SecretBytes) { self.secret = secret }
    }

    /// By ``SecretReference/key``.
    private var held: [String: Held] = [:]

    /// Releases each secret once, even if it is named several times.
    ///
    /// A missing secret is detected before the user is prompted; a missing field before anything is written.
    init(_ references: [SecretReference], reason: (_ names: String) -> String) throws(CommandError) {
        var seen: Set<String> = []
        let names = references.map(\.name).filter { seen.insert($0.text).inserted }
        guard !names.isEmpty else { return }
        let context = RemoteKeychain.shared.makeContextNumber()
        let secrets = StoredSecrets()
        let reason = reason(Self.list(names))
        for name in try Self.inOrderOfDemand(names, secrets) {
            let secret = try secrets.read(name, reason: reason, context: context)
            let references = references.filter { $0.name.text == name.text }
            for reference in references {
                guard let field = reference.field else { continue }
                held[reference.key] = Held(try reference.value(of: field, in: secret))
            }
            // Not copied: locked memory is scarce.
            if references.contains(where: { $0.field == nil }) { held[name.text] = Held(secret) }
        }
    }

    /// Lends a released value to `body`.
    func withSecret<R, E: Error>(
        _ reference: SecretReference,
        _ body: (borrowing SecretBytes) throws(E) -> R
    ) throws(E) -> R {
        guard let entry = held[reference.key] else { preconditionFailure("a secret that was not released") }
        return try body(entry.secret)
    }

    /// Lends all released values to `body`, one after the other.
    func forEach<E: Error>(_ body: (borrowing SecretBytes) throws(E) -> Void) throws(E) {
        for entry in held.values { try body(entry.secret) }
    }

    /// The names for a prompt, which has space for a few.
    private static func list(_ names: [ItemName]) -> String {
        let shown = names.prefix(8).map { "'\($0.text)'" }.joined(separator: ", ")
        return names.count > 8 ? shown + " and \(names.count - 8) more" : shown
    }

    private static func inOrderOfDemand(
        _ names: [ItemName],
        _ secrets: StoredSecrets
    ) throws(CommandError) -> [ItemName] {
        var ranked: [(rank: Int, name: ItemName)] = []
        for name in names {
            let rank = try secrets.find(name).accessControl.releaseOrder
            ranked.append((rank, name))
        }
        return ranked.sorted { $0.rank < $1.rank }.map(\.name)
    }
}
