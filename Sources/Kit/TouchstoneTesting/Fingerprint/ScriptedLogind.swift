import FingerprintDriver
import Glibc
import MessageBus
import SecretMemory

/// A login session of a ``ScriptedLogind``.
package struct ScriptedSession: Sendable {
    /// Its name, the last part of its object path.
    package var id: String
    /// The user.
    package var userID: UInt32
    /// The property `Type`: `x11` or `wayland` with a screen, `tty` or `unspecified` without.
    package var type: String
    /// The property `Class`: `user` or `greeter`.
    package var sessionClass: String
    /// The property `LockedHint`.
    package var isLocked: Bool
    /// The seat's name; empty without one, as over ssh.
    package var seat: String
    /// The property `Active`.
    package var isActive: Bool
    /// The property `State`.
    package var state: String
    /// The property `Audit`: the kernel's audit session, 0 for none.
    package var audit: UInt32

    /// Describes a session, of this process's user and active on a seat by default.
    package init(
        _ id: String,
        userID: UInt32 = geteuid(),
        type: String = "wayland",
        sessionClass: String = "user",
        isLocked: Bool = false,
        seat: String = "seat0",
        isActive: Bool = true,
        state: String = "active",
        audit: UInt32 = 0
    ) {
        self.id = id
        self.userID = userID
        self.type = type
        self.sessionClass = sessionClass
        self.isLocked = isLocked
        self.seat = seat
        self.isActive = isActive
        self.state = state
        self.audit = audit
    }

    var path: String { ScriptedLogind.path(of: id) }

    /// The element of `ListSessions`: ID, user, user's name, seat, object path.
    var listed: BusValue {
        .structure([.string(id), .uint32(userID), .string("user"), .string(seat), .objectPath(path)])
    }

    var properties: BusValue {
        let user = BusValue.structure([
            .uint32(userID), .objectPath("/org/freedesktop/login1/user/_\(userID)"),
        ])
        let values: [(String, BusValue)] = [
            ("User", user), ("Type", .string(type)), ("Class", .string(sessionClass)),
            ("LockedHint", .boolean(isLocked)),
            (
                "Seat",
                .structure([.string(seat), .objectPath(seat.isEmpty ? "/" : Login1.path + "/seat/" + seat)])
            ),
            ("Active", .boolean(isActive)), ("State", .string(state)), ("Audit", .uint32(audit)),
        ]
        return .array(of: "{sv}", values.map { .entry(.string($0.0), .variant($0.1)) })
    }
}

/// A peer that owns logind's name, grants sleep delays, has login sessions, and can announce that the machine is about to sleep.
package actor ScriptedLogind {
    private let peer: BusPeer
    private let delays = SleepDelays()
    private let sessions: Guarded<[ScriptedSession]>
    private let sessionReads = Guarded(0)
    private let switches = Guarded<Set<String>>([])
    private let lid = Guarded((isClosed: false, reads: 0))

    /// Takes logind's name.
    ///
    /// - Parameters:
    ///   - bus: the bus.
    ///   - sessions: the login sessions at the start.
    /// - Throws: an error of the bus.
    package init(_ bus: PrivateBus, sessions: [ScriptedSession] = []) async throws {
        let delays = delays
        let reads = sessionReads
        let switches = switches
        let lid = lid
        let list = Guarded(sessions)
        self.sessions = list
        peer = try await BusPeer(address: bus.address) { call in
            switch call.member {
            case "Inhibit": return delays.take(call.arguments.compactMap(\.text))
            case "ListSessions":
                return BusPeer.Answer([.array(of: "(susso)", list.withLock { $0.map(\.listed) })])
            case "Get" where call.arguments.last == .string("LidClosed"):
                let isClosed = lid.withLock { lid in
                    lid.reads += 1
                    return lid.isClosed
                }
                return BusPeer.Answer([.variant(.boolean(isClosed))])
            case "GetAll":
                guard let session = list.withLock({ $0.first { $0.path == call.path } }) else {
                    return BusPeer.Answer(error: "org.freedesktop.DBus.Error.UnknownObject")
                }
                reads.withLock { $0 += 1 }
                var answer = BusPeer.Answer([session.properties])
                if switches.withLock({ $0.remove(session.id) }) != nil {
                    list.withLock { list in
                        for index in list.indices where list[index].id == session.id {
                            list[index].isActive.toggle()
                        }
                    }
                    answer.before = [Self.activeSignal(session.id, !session.isActive)]
                }
                return answer
            default: return nil
            }
        }
        try await peer.own(Login1.busName)
    }

    /// Waits until the given number of delays was requested; returns how many are still held.
    package func delaysHeld(ofAll count: Int) async throws -> Int {
        try await Deadline.wait(for: "\(count) delays") { delays.count >= count ? delays.held : nil }
    }

    /// Waits until each of `holders` delays sleep, as Touchstone's driver and fprintd do from their start or the wake-up on; one
    /// that is named twice has two delays.
    package func waitUntilDelayed(by holders: [String] = [touchstone]) async throws {
        try await Deadline.wait(for: "delays of sleep by \(holders)") {
            let areAll = holders.allSatisfy { who in
                delays.held(by: who) >= holders.count { $0 == who }
            }
            return areAll ? true : nil
        }
    }

    /// The name that Touchstone's driver gives for its delay.
    package static let touchstone = "Touchstone"
    /// The name that fprintd gives.
    package static let fprintd = Fprint.busName

    /// Waits until no client delays sleep any more.
    package func waitUntilNotDelayed() async throws {
        try await Deadline.wait(for: "leave to sleep") { delays.held == 0 ? true : nil }
    }

    /// Emits `PrepareForSleep(true)`, or `PrepareForSleep(false)` for the wake-up.
    package func prepareForSleep(_ isStarting: Bool = true) async throws {
        try await peer.emit(Self.sleepSignal(isStarting))
        try await peer.flush()
    }

    static func sleepSignal(_ isStarting: Bool) -> BusPeer.Signal {
        BusPeer.Signal(Login1.path, Login1.managerInterface, "PrepareForSleep", [.boolean(isStarting)])
    }

    // MARK: The lid

    /// Opens or closes the lid, and waits until a client that reads it has read that.
    package func setLidClosed(_ isClosed: Bool) async throws {
        let (lid, before) = (lid, lid.withLock { $0.reads })
        lid.withLock { $0.isClosed = isClosed }
        // A read that was under way may have had the former state.
        try await Deadline.wait(for: "two reads of the lid") {
            lid.withLock { $0.reads } > before + 1 ? true : nil
        }
    }

    /// How often the lid was read.
    package var lidReads: Int { lid.withLock { $0.reads } }

    // MARK: Sessions

    /// Waits until clients have read the properties of sessions so often, and what they requested before.
    package func waitUntilRead(times: Int) async throws {
        let reads = sessionReads
        try await Deadline.wait(for: "\(times) reads of sessions") {
            reads.withLock { $0 } >= times ? true : nil
        }
    }

    /// A session begins, with a signal or before it.
    package func add(_ session: ScriptedSession, announces: Bool = true) async throws {
        sessions.withLock { $0.append(session) }
        if announces { try await tell("SessionNew", session.id) }
    }

    /// A session ends.
    package func remove(_ id: String) async throws {
        sessions.withLock { $0.removeAll { $0.id == id } }
        try await tell("SessionRemoved", id)
    }

    /// Changes `LockedHint`, as a desktop does whose screen is locked or unlocked.
    package func setLocked(_ id: String, _ isLocked: Bool = true) async throws {
        change(id) { $0.isLocked = isLocked }
        try await peer.emit(Self.hintSignal(id, isLocked))
        try await peer.flush()
    }

    /// Changes `Active`, as when the seat shows another session or this one again.
    package func setActive(_ id: String, _ isActive: Bool) async throws {
        change(id) { $0.isActive = isActive }
        try await peer.emit(Self.activeSignal(id, isActive))
        try await peer.flush()
    }

    /// Makes the seat show another session, or this one again, while its properties are read the next time: the reply with the
    /// former value comes after the signal.
    package func switchWhileRead(_ id: String) { _ = switches.withLock { $0.insert(id) } }

    /// Changes `State` without a signal, as logind does.
    package func setState(_ id: String, _ state: String) { change(id) { $0.state = state } }

    private func change(_ id: String, _ body: (inout ScriptedSession) -> Void) {
        sessions.withLock { sessions in
            for index in sessions.indices where sessions[index].id == id { body(&sessions[index]) }
        }
    }

    /// Asks a session to lock its screen (`loginctl lock-session`); the hint does not change.
    package func askToLock(_ id: String) async throws {
        try await peer.emit(BusPeer.Signal(Self.path(of: id), Login1.sessionInterface, "Lock", []))
        try await peer.flush()
    }

    private func tell(_ member: String, _ id: String) async throws {
        let arguments: [BusValue] = [.string(id), .objectPath(Self.path(of: id))]
        try await peer.emit(BusPeer.Signal(Login1.path, Login1.managerInterface, member, arguments))
        try await peer.flush()
    }

    static func path(of id: String) -> String { Login1.sessionPath + id }

    static func hintSignal(_ id: String, _ isLocked: Bool) -> BusPeer.Signal {
        changeSignal(id, "LockedHint", isLocked)
    }

    static func activeSignal(_ id: String, _ isActive: Bool) -> BusPeer.Signal {
        changeSignal(id, "Active", isActive)
    }

    private static func changeSignal(_ id: String, _ property: String, _ value: Bool) -> BusPeer.Signal {
        BusPeer.Signal(
            path(of: id),
            propertiesInterface,
            "PropertiesChanged",
            [
                .string(Login1.sessionInterface),
                .array(of: "{sv}", [.entry(.string(property), .variant(.boolean(value)))]),
                .strings([]),
            ]
        )
    }

    /// Disconnects from the bus.
    package func stop() async { await peer.close() }
}

/// The granted delays: one pipe each, whose other end reports a hang-up when the last holder closes it.
private final class SleepDelays: Sendable {
    private let pipes = Guarded<[(who: String, end: BusDescriptor)]>([])

    var count: Int { pipes.withLock(\.count) }

    var held: Int { held { _ in true } }

    func held(by who: String) -> Int { held { $0 == who } }

    private func held(_ isCounted: (String) -> Bool) -> Int {
        pipes.withLock { pipes in
            pipes.count { who, pipe in
                var entry = pollfd(fd: pipe.number, events: 0, revents: 0)
                guard isCounted(who) else { return false }
                return unsafe poll(&entry, 1, 0) == 0
            }
        }
    }

    /// Grants a delay: `what`, `who`, `why` and `mode`.
    func take(_ arguments: [String]) -> BusPeer.Answer {
        var ends: [CInt] = [-1, -1]
        guard arguments.count == 4, arguments[0] == "sleep", arguments[3] == "delay", unsafe pipe(&ends) == 0
        else { return .init(error: "org.freedesktop.DBus.Error.InvalidArgs") }
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        pipes.withLock { $0.append((arguments[1], BusDescriptor(adopting: ends[0]))) }
        return .init([.descriptor(BusDescriptor(adopting: ends[1]))])
    }
}
