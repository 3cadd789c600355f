import KeychainModel

/// The channels on which the passcode was typed since the daemon started: on these alone a touch counts by itself.
///
/// A box on a terminal in no window, or on a nested display, would otherwise harvest the next touch that is meant for
/// something else. Kept in memory alone: a daemon that starts has seen none.
struct SeenChannels: Sendable, Equatable {
    /// Channels remembered at most; the one typed on the longest ago is forgotten first, which costs one passcode.
    static let mostChannels = 256

    private var channels: [PromptChannel] = []

    /// Begins with none, or with these.
    init(_ channels: [PromptChannel] = []) { self.channels = channels }

    /// The right passcode was typed there; nil is a channel that cannot be told, and stays unseen.
    mutating func note(_ channel: PromptChannel?) {
        guard let channel else { return }
        channels.removeAll { $0 == channel }
        channels.append(channel)
        if channels.count > Self.mostChannels { channels.removeFirst() }
    }

    /// Whether a touch alone counts there.
    func contains(_ channel: PromptChannel?) -> Bool { channel.map(channels.contains) ?? false }

    /// Whether a touch alone could count on one of these.
    func containsAny(of others: Set<PromptChannel>) -> Bool { channels.contains(where: others.contains) }
}
