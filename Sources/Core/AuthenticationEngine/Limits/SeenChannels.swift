import KeychainModel

/// The channels on which the passcode was typed since the daemon started: only there does a touch count on its own.
///
/// Otherwise a prompt on a terminal without a window, or on a nested display, could capture the next touch meant for
/// something else. Kept in memory only: a new daemon starts with none.
struct SeenChannels: Sendable, Equatable {
    /// The most channels remembered; the least recently used is forgotten first, which costs the user one passcode entry.
    static let mostChannels = 256

    private var channels: [PromptChannel] = []

    /// Starts empty, or with these channels.
    init(_ channels: [PromptChannel] = []) { self.channels = channels }

    /// Records that the right passcode was typed on this channel; nil is an unidentified channel and is not recorded.
    mutating func note(_ channel: PromptChannel?) {
        guard let channel else { return }
        channels.removeAll { $0 == channel }
        channels.append(channel)
        if channels.count > Self.mostChannels { channels.removeFirst() }
    }

    /// Whether a touch alone counts on this channel.
    func contains(_ channel: PromptChannel?) -> Bool { channel.map(channels.contains) ?? false }

    /// Whether a touch alone could count on one of these channels.
    func containsAny(of others: Set<PromptChannel>) -> Bool { channels.contains(where: others.contains) }
}
