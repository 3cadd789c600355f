import KeychainModel

/// Limits how often a user's programs may put up boxes that lead nowhere.
struct PromptRate: Sendable {
    private var ends: [UInt32: [BootTime]] = [:]

    /// A box of `uid` ended without success.
    mutating func ended(uid: UInt32, at now: BootTime, limit: Int) {
        ends[uid, default: []].append(now)
        if let count = ends[uid]?.count, count > limit { ends[uid]?.removeFirst(count - limit) }
    }

    /// A box of `uid` ended with success: the person is there.
    mutating func succeeded(uid: UInt32) {
        ends[uid] = nil
    }

    /// How long `uid` has to wait for its next box; nil when it need not.
    mutating func delay(uid: UInt32, at now: BootTime, limit: Int, period: Duration) -> Duration? {
        let recent = (ends[uid] ?? []).filter { end in
            guard let age = now.since(end) else { return false }
            return age >= .zero && age < period
        }
        ends[uid] = recent.isEmpty ? nil : recent
        guard recent.count >= limit, let age = recent.first.flatMap(now.since) else { return nil }
        return period - age
    }
}
