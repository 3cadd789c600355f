internal import Foundation

/// When a key may be used, and how often.
struct KeyLifetime: Sendable {
    /// When it may be used first; nil for at once.
    var starts: Date?
    /// When it may be used no more; nil for never.
    var expires: Date?
    /// How often it may be used; nil for any number.
    var uses: Int?

    /// The most uses of a key.
    static let mostUses = 1_000_000

    /// - Throws: ``TouchstoneError``: `expired` for an end that has passed, `limitExceeded`.
    func check() throws(TouchstoneError) {
        if let expires, expires <= Date() { throw TouchstoneError(.expired) }
        if let uses, !(1...Self.mostUses ~= uses) { throw .limit("uses: 1 to \(Self.mostUses)") }
        if let starts, let expires, starts >= expires { throw .limit("starts: before expires") }
    }

    /// - Throws: ``TouchstoneError``: `notYetValid`, `expired`.
    func checkTime() throws(TouchstoneError) {
        let now = Date()
        if let starts, now < starts { throw TouchstoneError(.notYetValid) }
        if let expires, expires <= now { throw TouchstoneError(.expired) }
    }
}
