import Glibc
import KeychainModel
import MessageBus

/// A bus connection that verifies the owners of fprintd's and logind's names and ignores signals of other senders.
///
/// Confined to the thread of its executor.
final class FprintConnection {
    /// An event of the connection.
    enum Event: Sendable {
        /// fprintd announced a change of a sensor.
        case device(DeviceSignal)
        /// Another sender than fprintd, logind or the bus sent one of their signals.
        case forged
        /// The owner of fprintd's name with this unique name has disconnected.
        case ownerLost(String)
        /// fprintd's name has a new owner, which is not verified yet.
        case ownerAppeared
        /// The machine is about to sleep; it waits for ``FprintConnection/allowSleep()`` for a limited time.
        case suspend
        /// The machine woke up, or logind was restarted.
        case logindReady
        /// logind ended.
        case logindLost
        /// logind announced something about a login session.
        case session(SessionSignal)
        /// The connection was lost.
        case closed
    }

    private(set) var bus: Bus?
    /// The paths of the sensors that fprintd last reported.
    var sensors: [String] = []
    private var fprintd: TrustedName
    private var logind: TrustedName
    /// The inhibitor: while it is open, the machine waits before it sleeps, so that fingers and keys can be released.
    private var sleepDelay: BusDescriptor?
    private let onEvent: (Event) -> Void

    /// Connects to the bus and watches both names; with `watchesSessions`, also logind's login sessions.
    init(
        _ address: BusAddress,
        executor: BusExecutor,
        callTimeout: Duration,
        watchesSessions: Bool = false,
        onEvent: @escaping (Event) -> Void
    ) throws(BusError) {
        fprintd = TrustedName(
            Fprint.busName,
            ownerUserID: address.ownerUserID,
            interfaces: [Fprint.deviceInterface, propertiesInterface]
        )
        logind = TrustedName(
            Login1.busName,
            ownerUserID: address.ownerUserID,
            interfaces: [Login1.managerInterface]
                + (watchesSessions ? [Login1.sessionInterface, propertiesInterface] : [])
        )
        self.onEvent = onEvent
        let bus = try Bus(
            address: try address.resolved(),
            executor: executor,
            callTimeout: callTimeout,
            onMessage: { [weak self] message, _ in
                self?.receive(message)
                return false
            },
            onClosed: { [weak self] in self?.closed() }
        )
        self.bus = bus
        for name in [fprintd.name, logind.name] {
            subscribe(
                "type='signal',sender='org.freedesktop.DBus',interface='org.freedesktop.DBus',"
                    + "member='NameOwnerChanged',arg0='\(name)'"
            )
        }
    }

    /// Closes the connection; fprintd then releases a claim by itself.
    func close() {
        guard let bus else { return }
        self.bus = nil
        sleepDelay = nil
        bus.close()
        closed()
    }

    private func closed() {
        bus = nil
        onEvent(.closed)
    }

    private func subscribe(_ rule: String) {
        bus?.send(.bus, "AddMatch", [.string(rule)]) { [weak self] reply in
            // A connection that misses fprintd's signals is worse than none.
            if case .failure = reply { self?.close() }
        }
    }

    // MARK: Owners

    /// The unique name of fprintd's verified owner; with `activate`, fprintd is started if necessary.
    nonisolated(nonsending) func fprintdOwner(activate: Bool) async throws(FingerprintError) -> String? {
        try await owner(of: \.fprintd, activate: activate)
    }

    /// The unique name of logind's verified owner; nil without logind.
    nonisolated(nonsending) func logindOwner() async throws(FingerprintError) -> String? {
        try await owner(of: \.logind, activate: false)
    }

    /// Verifies logind, if there is one, and takes a delay inhibitor for sleep.
    nonisolated(nonsending) func findLogind() async {
        // Without logind sleep is not announced; a verification then ends when the sensor does.
        guard let owner = try? await logindOwner(), sleepDelay == nil else { return }
        let manager = Bus.Target(owner, Login1.path, Login1.managerInterface)
        let why: [BusValue] = [
            .string("sleep"), .string("Touchstone"), .string("Lets go of fingers and keys"), .string("delay"),
        ]
        // If the inhibitor is refused, sleep does not wait for us.
        guard let reply = try? await bus?.call(manager, "Inhibit", why),
            case .descriptor(let delay)? = reply.first, logind.speaks(owner)
        else { return }
        sleepDelay = delay
    }

    /// Releases the inhibitor, so that the machine can sleep.
    func allowSleep() { sleepDelay = nil }

    private nonisolated(nonsending) func owner(
        of name: ReferenceWritableKeyPath<FprintConnection, TrustedName>,
        activate: Bool
    ) async throws(FingerprintError) -> String? {
        // A name that changes owners during the check is checked again.
        for _ in 1...3 {
            if let owner = self[keyPath: name].owner { return owner }
            let generation = self[keyPath: name].generation
            guard let owner = try await currentOwner(of: self[keyPath: name].name, activate: activate) else {
                return nil
            }
            let userID: UInt32
            do throws(BusError) {
                let reply = try await call("GetConnectionUnixUser", [.string(owner)])
                guard case .uint32(let number)? = reply.first else { throw .malformed }
                userID = number
            } catch .remote(name: "org.freedesktop.DBus.Error.NameHasNoOwner", _) {
                continue
            } catch {
                throw FingerprintError(error)
            }
            guard userID == self[keyPath: name].ownerUserID else {
                throw FingerprintError(.untrustedOwner, message: "owned by user \(userID)")
            }
            guard generation == self[keyPath: name].generation else { continue }
            if self[keyPath: name].owner == nil {
                self[keyPath: name].owner = owner
                for rule in self[keyPath: name].rules(sender: owner) { subscribe(rule) }
            }
            return owner
        }
        throw FingerprintError(.ownerLost)
    }

    private nonisolated(nonsending) func currentOwner(
        of name: String,
        activate: Bool
    ) async throws(FingerprintError) -> String? {
        do throws(BusError) {
            if let owner = try await nameOwner(name) { return owner }
            guard activate else { return nil }
            _ = try await call("StartServiceByName", [.string(name), .uint32(0)])
            guard let owner = try await nameOwner(name) else {
                throw .remote(name: "org.freedesktop.DBus.Error.NameHasNoOwner", message: name)
            }
            return owner
        } catch {
            throw FingerprintError(error)
        }
    }

    private nonisolated(nonsending) func nameOwner(_ name: String) async throws(BusError) -> String? {
        do throws(BusError) {
            guard let owner = try await call("GetNameOwner", [.string(name)]).first?.text else {
                throw .malformed
            }
            return owner
        } catch .remote(name: "org.freedesktop.DBus.Error.NameHasNoOwner", _) {
            return nil
        }
    }

    private nonisolated(nonsending) func call(
        _ method: String,
        _ arguments: [BusValue]
    ) async throws(BusError) -> [BusValue] {
        guard let bus else { throw .system(errno: ENOTCONN) }
        return try await bus.call(.bus, method, arguments)
    }

    private func ownerChanged(_ name: ReferenceWritableKeyPath<FprintConnection, TrustedName>, to new: String)
    {
        let old = self[keyPath: name].owner
        for rule in self[keyPath: name].lose() { bus?.send(.bus, "RemoveMatch", [.string(rule)]) { _ in } }
        guard name == \.fprintd else {
            sleepDelay = nil
            onEvent(new.isEmpty ? .logindLost : .logindReady)
            return
        }
        if let old { onEvent(.ownerLost(old)) }
        if !new.isEmpty { onEvent(.ownerAppeared) }
    }

    // MARK: Signals

    private func receive(_ message: borrowing BusMessage) {
        guard message.isSignal, let sender = message.sender, let path = message.path,
            let interface = message.interface, let member = message.member
        else { return }
        switch (interface, member) {
        case ("org.freedesktop.DBus", "NameOwnerChanged"):
            guard sender == "org.freedesktop.DBus" else { return onEvent(.forged) }
            receiveOwners((try? message.arguments()) ?? [])
        case (Login1.managerInterface, "PrepareForSleep"):
            guard logind.speaks(sender) else { return logind.isFormer(sender) ? () : onEvent(.forged) }
            guard let isStarting = (try? message.arguments())?.first?.truth else { return }
            onEvent(isStarting ? .suspend : .logindReady)
        case (Login1.managerInterface, _), (Login1.sessionInterface, _),
            (propertiesInterface, _) where path.hasPrefix(Login1.sessionPath):
            guard logind.speaks(sender) else { return logind.isFormer(sender) ? () : onEvent(.forged) }
            guard let arguments = try? message.arguments(),
                let signal = SessionSignal(path, interface, member, arguments)
            else { return }
            onEvent(.session(signal))
        case (Fprint.deviceInterface, _),
            (propertiesInterface, _) where path.hasPrefix(Fprint.rootPath):
            guard fprintd.speaks(sender) else { return fprintd.isFormer(sender) ? () : onEvent(.forged) }
            guard let arguments = try? message.arguments(),
                let signal = DeviceSignal(
                    owner: sender,
                    path: path,
                    interface: interface,
                    member: member,
                    arguments: arguments
                )
            else { return }
            onEvent(.device(signal))
        default: break
        }
    }

    private func receiveOwners(_ arguments: [BusValue]) {
        guard arguments.count == 3, let name = arguments[0].text, let new = arguments[2].text else { return }
        switch name {
        case fprintd.name: ownerChanged(\.fprintd, to: new)
        case logind.name: ownerChanged(\.logind, to: new)
        default: break
        }
    }
}
