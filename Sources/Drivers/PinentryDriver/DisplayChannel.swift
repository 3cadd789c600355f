import Glibc
import KeychainModel
import SecretMemory

/// The channel of a prompt on a display: the servers to which the program that draws it is connected.
///
/// A name such as `:1` or `wayland-0` leads wherever the socket of that name leads at that moment; libxcb even tries an
/// abstract socket first, whose name any process may take. The connections that the program has made show where its
/// window really is. A program with a connection to another machine has no channel (`ssh -X`): there the passcode counts,
/// but never a touch alone.
enum DisplayChannel {
    /// The channel of a program's prompt; nil if one of its connections cannot be identified, or none is to a display.
    ///
    /// - Parameters:
    ///   - connections: all connections of the program; nil if they are unknown.
    ///   - place: the displays that it was told of.
    ///   - flavor: GNOME's program has no display: the shell draws, which it finds on the session's bus.
    ///   - runtimeDirectory: `XDG_RUNTIME_DIR`.
    /// - Returns: the channel.
    static func of(
        _ connections: Set<ProgramConnection>?,
        at place: PromptPlace,
        flavor: PinentryFlavor,
        runtimeDirectory: String?
    ) -> PromptChannel? {
        guard let connections, !connections.isEmpty else { return nil }
        let displays = sockets(of: place, runtimeDirectory: runtimeDirectory)
        let isOnDisplay = flavor.isGNOME || connections.contains { displays.contains($0.address) }
        guard isOnDisplay else { return nil }
        let servers = connections.map { "\($0.address) of \($0.server)" }.sorted().joined(separator: ", ")
        return PromptChannel("display at \(servers)")
    }

    /// The addresses at which the servers of a place's displays listen.
    private static func sockets(of place: PromptPlace, runtimeDirectory: String?) -> Set<String> {
        var sockets: Set<String> = []
        if let path = place.display.flatMap(socketOfX) { sockets = ["@" + path, path] }
        if let display = place.waylandDisplay {
            let path = display.hasPrefix("/") ? display : runtimeDirectory.map { "\($0)/\(display)" }
            if let path { sockets.insert(path) }
        }
        return sockets
    }

    /// `:1` and `:1.0` are `/tmp/.X11-unix/X1` (X(7), libxcb).
    private static func socketOfX(_ display: String) -> String? {
        guard display.hasPrefix(":") else { return nil }
        let number = display.dropFirst().prefix { $0 != "." }
        guard !number.isEmpty, number.allSatisfy({ $0.isASCII && $0.isNumber }) else { return nil }
        return "/tmp/.X11-unix/X\(number)"
    }
}

/// Where the last prompts on displays were, by the names of the displays.
///
/// Only to expect a channel before a program has been started; what counts is the channel of the prompt itself.
final class FormerDisplays: Sendable {
    private struct Names: Hashable {
        let display: String?
        let waylandDisplay: String?

        init(_ place: PromptPlace) { (display, waylandDisplay) = (place.display, place.waylandDisplay) }
    }

    private static let most = 64
    private let channels = Guarded<[Names: PromptChannel]>([:])

    /// The channel of the last prompt at these displays; nil if there was none.
    func channel(at place: PromptPlace) -> PromptChannel? {
        guard place.hasDisplay else { return nil }
        return channels.withLock { $0[Names(place)] }
    }

    /// Keeps the channel of a prompt.
    func note(_ channel: PromptChannel?, at place: PromptPlace) {
        channels.withLock { channels in
            if channels.count >= Self.most { channels = [:] }
            channels[Names(place)] = channel
        }
    }
}
