import KeychainModel
import MessageBus

/// A connection to a session bus that follows the owners of the screen savers' names and hears their signals.
///
/// Confined to the thread of its executor.
final class ScreenSaverConnection {
    /// An event of the connection.
    enum Event: Sendable {
        /// The screen saver said whether it is active, by itself or when it was asked.
        case active(ScreenSaver, Bool, isSignal: Bool)
        /// The screen saver has left the bus, or was replaced.
        case left(ScreenSaver)
        /// Another sender than the owner of a screen saver's name, or than the bus, sent one of their signals.
        case forged
        /// Every screen saver that was on the bus at the start has said whether it is active, or does not.
        case ready
        /// The connection was lost.
        case closed
    }

    private var bus: Bus?
    /// The calls without a reply; nil once there was none left.
    private var waiting: Int? = 0
    /// The unique names of the owners.
    private var owners: [ScreenSaver: String] = [:]
    private let onEvent: (Event) -> Void

    /// Connects, and looks for all screen savers.
    init(
        _ address: String,
        executor: BusExecutor,
        callTimeout: Duration,
        onEvent: @escaping (Event) -> Void
    ) throws(BusError) {
        self.onEvent = onEvent
        bus = try Bus(
            address: address,
            executor: executor,
            callTimeout: callTimeout,
            onMessage: { [weak self] message, _ in
                self?.receive(message)
                return false
            },
            onClosed: { [weak self] in self?.closed() }
        )
        for saver in ScreenSaver.allCases {
            let name = saver.rawValue
            subscribe(
                "type='signal',sender='org.freedesktop.DBus',interface='org.freedesktop.DBus',"
                    + "member='NameOwnerChanged',arg0='\(name)'"
            )
            subscribe(
                "type='signal',sender='\(name)',interface='\(name)',member='\(ScreenSaver.signal)'"
            )
            // Its reply and those of the owner come in the order of the signals, and are handled in that order.
            ask(.bus, "GetNameOwner", [.string(name)]) { [weak self] reply in
                if let owner = reply?.text { self?.own(saver, owner) }
            }
        }
    }

    /// Closes the connection.
    func close() {
        guard let bus else { return }
        self.bus = nil
        bus.close()
    }

    private func closed() {
        bus = nil
        onEvent(.closed)
    }

    private func subscribe(_ rule: String) {
        bus?.send(.bus, "AddMatch", [.string(rule)]) { [weak self] reply in
            // A connection that misses signals is worse than none.
            guard case .failure = reply, let self, bus != nil else { return }
            close()
            closed()
        }
    }

    /// Sends a call; `reply` gets the first argument of its reply, or nil for an error.
    private func ask(
        _ target: Bus.Target,
        _ method: String,
        _ arguments: [BusValue] = [],
        _ reply: @escaping (BusValue?) -> Void
    ) {
        waiting? += 1
        bus?.send(target, method, arguments) { [weak self] result in
            reply((try? result.get())?.first)
            self?.noteReply()
        }
    }

    private func noteReply() {
        guard let count = waiting else { return }
        waiting = count > 1 ? count - 1 : nil
        if waiting == nil { onEvent(.ready) }
    }

    private func own(_ saver: ScreenSaver, _ owner: String) {
        guard owners[saver] != owner else { return }
        owners[saver] = owner
        // Some only pass on the inhibitions of programs under this name, and have no state.
        for path in saver.paths {
            ask(Bus.Target(owner, path, saver.rawValue), "GetActive") { [weak self] reply in
                guard let self, owners[saver] == owner, let isActive = reply?.truth else { return }
                onEvent(.active(saver, isActive, isSignal: false))
            }
        }
    }

    private func receive(_ message: borrowing BusMessage) {
        guard message.isSignal, let sender = message.sender, let interface = message.interface,
            let member = message.member
        else { return }
        switch (interface, member) {
        case ("org.freedesktop.DBus", "NameOwnerChanged"):
            guard sender == "org.freedesktop.DBus" else { return onEvent(.forged) }
            guard let arguments = try? message.arguments(), arguments.count == 3,
                let saver = arguments[0].text.flatMap(ScreenSaver.init), let new = arguments[2].text
            else { return }
            if owners.removeValue(forKey: saver) != nil { onEvent(.left(saver)) }
            if !new.isEmpty { own(saver, new) }
        case (_, ScreenSaver.signal):
            guard let saver = ScreenSaver(rawValue: interface) else { return }
            guard sender == owners[saver] else { return onEvent(.forged) }
            guard let isActive = (try? message.arguments())?.first?.truth else { return }
            onEvent(.active(saver, isActive, isSignal: true))
        default: break
        }
    }
}
