import KeychainModel

/// Limits how often a user's programs may show prompts that end without success.
struct PromptRate: Sendable {
    private var ends: [UInt32: [BootTime]] = [:]

    /// Counts a prompt of `uid` that ended without success.
    mutating func ended(uid: UInt32, at now: BootTime, limit: Int) {
        ends[uid, default: []].append(now)
        if let count = ends[uid]?.count, count > limit { ends[uid]?.removeFirst(count - limit) }
    }

    /// Resets the count after a prompt of `uid` that ended with success: the user is present.
    mutating func succeeded(uid: UInt32) {
        ends[uid] = nil
    }

    /// How long `uid` must wait for its next prompt; nil if it need not.
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
