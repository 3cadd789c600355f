import ArgumentParser
import KeychainModel
import SecretMemory

/// The secrets with a field whose value matches, found by releasing them one after the other.
///
/// One context, the strictest requirement first: what is asked for it covers those that require no more. A secret that cannot
/// be read is told, and those that require the same are not asked for again. Whoever cancels or is not recognised gets nothing.
struct FieldSearch {
    /// The most secrets that are told by name.
    private static let mostNamed = 8

    /// A secret that was not searched.
    private struct Unread {
        let name: String
        let error: CommandError
    }

    /// Those that match, in their former order.
    let found: [StoredSecret]
    /// Those that were lost when the enrolled fingers changed, by name.
    private let lost: [String]
    private let unread: [Unread]
    private let count: Int

    /// Searches.
    ///
    /// - Parameters:
    ///   - field: the field.
    ///   - pattern: what its value has to match.
    ///   - secrets: the secrets to read.
    ///   - context: the context in which a passcode may have unlocked the keychain.
    /// - Throws: ``CommandError`` if the user cancels or is not recognised.
    init(
        _ field: FieldName,
        _ pattern: FieldPattern,
        in secrets: [StoredSecret],
        context: UInt64
    ) throws(CommandError) {
        count = secrets.count
        lost = secrets.filter { $0.invalidated != nil }.map(\.name)
        let readable = secrets.enumerated().filter { $0.element.invalidated == nil }.sorted { first, second in
            first.element.accessControl.releaseOrder < second.element.accessControl.releaseOrder
        }
        let reason = "Search '\(field.text)' in \(PrefixChange.count(readable.count))."
        let progress = Progress("Searching")
        defer { progress.clear() }
        var places: [Int] = []
        var unread: [Unread] = []
        var refusals: [String: CommandError] = [:]
        for (done, (place, secret)) in readable.enumerated() {
            progress.showLater(done, readable.count)
            let requirement = secret.accessControl.requirementName
            do throws(CommandError) {
                if let refusal = refusals[requirement] { throw refusal }
                if try Self.matches(secret, field, pattern, reason, context) { places.append(place) }
            } catch {
                switch error.exitCode {
                case .cancelled, .authenticationFailed: throw error
                case .lockedOut, .notAvailable, .notInteractive: refusals[requirement] = error
                default: break
                }
                unread.append(Unread(name: secret.name, error: error))
            }
        }
        found = places.sorted().map { secrets[$0] }
        self.unread = unread
    }

    private static func matches(
        _ secret: StoredSecret,
        _ field: FieldName,
        _ pattern: FieldPattern,
        _ reason: String,
        _ context: UInt64
    ) throws(CommandError) -> Bool {
        let name: ItemName
        do {
            name = try ItemName(argument: secret.name)
        } catch {
            throw CommandError(error.message, hint: "touchstone list")
        }
        let secret = try StoredSecrets().read(name, reason: reason, context: context)
        return SecretFields.has(field, matching: pattern, in: secret)
    }

    /// Tells which secrets were not searched, on standard error.
    ///
    /// - Throws: ``CommandError`` if there are others than lost ones, with the status of the first.
    func tellUnread() throws(CommandError) {
        let reasons =
            lost.map { ($0, "lost, the enrolled fingers have changed") }
            + unread.map { ($0.name, $0.error.message) }
        for (name, reason) in reasons.prefix(Self.mostNamed) {
            Output.complain(Printable.text("'\(name)' was not searched: \(reason)"))
        }
        if reasons.count > Self.mostNamed {
            Output.complain("and \(reasons.count - Self.mostNamed) more were not searched")
        }
        guard let first = unread.first else { return }
        throw CommandError(
            "\(unread.count) of \(PrefixChange.count(count)) \(unread.count == 1 ? "was" : "were") not searched",
            hint: first.error.hint,
            exitCode: first.error.exitCode
        )
    }
}
