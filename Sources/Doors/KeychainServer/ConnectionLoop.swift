import CLinux
import Desk
import Glibc
import KeychainModel
import PeerSockets
import SecretMemory

/// The locked memory of a request, released with the last reference.
enum RequestRoom: Sendable {
    case short(LockedMemoryBudget.Reservation)
    case long(LockedMemoryBudget.ArrivingFrame)
}

/// The loop of a connection's thread: reads frames, checks them, and runs requests in between.
struct ConnectionLoop: ~Copyable {
    private enum Hold {
        case none
        /// The connection has reached its limit of running requests.
        case requests
        /// No locked memory is left for the frame.
        case room
    }

    private let connection: Connection
    private let nonce = RandomBytes.array(count: Greeting.nonceOctetCount)
    private var receiver = FrameReceiver(firstRoom: LockedMemoryBudget.smallest)
    /// The reservation for the arriving frame, which grows with what has arrived of it.
    private var room: RequestRoom?
    /// For one short request, whatever others hold: the door has a buffer of this size for each connection.
    private let ownMemory = LockedMemoryBudget(octets: LockedMemoryBudget.smallest)
    private var lastID: UInt64 = 0
    /// Runs until the first request; nil afterwards.
    private var helloDeadline: MonotonicTime?
    /// Runs while part of a frame has been received.
    private var frameDeadline: MonotonicTime?
    /// When the peer counts as stalled, while part of a long frame has been received.
    private var stallDeadline: MonotonicTime?
    /// Why a received or announced frame has to wait.
    private var hold = Hold.none
    private var isReading = true

    init(_ connection: Connection) {
        self.connection = connection
        helloDeadline = .after(connection.limits.helloDeadline)
    }

    /// Serves the client until it disconnects and its last request has ended.
    mutating func run() {
        greet()
        while true {
            takeFrames()
            connection.executor.runJobs()
            if connection.isBroken || (connection.isStopping && connection.requestCount == 0) {
                stopReading()
            }
            if !isReading, connection.requestCount == 0, connection.executor.endIfEmpty() { return }
            waitForSomething()
        }
    }

    private mutating func greet() {
        let greeting = Greeting(nonce: nonce, daemonVersion: connection.desk.services.daemonVersion)
        sendOrStop(ReplyHead(id: 0).message(greeting))
    }

    // MARK: Frames

    private mutating func takeFrames() {
        hold = .none
        while isReading {
            do throws(WireError) {
                guard let length = try receiver.announcedLength() else { return awaitRest() }
                guard helloDeadline == nil || length <= LockedMemoryBudget.smallest else {
                    throw .frameLength(UInt32(length))
                }
                if !mayStartRequest { hold = .requests } else if try !takeRoom(length) { hold = .room }
                guard case .none = hold else {
                    // The delay is not the peer's fault: its deadlines start again.
                    (frameDeadline, stallDeadline) = (nil, nil)
                    return
                }
                guard let message = try receiver.next(), let room = room.take() else { return awaitRest() }
                (frameDeadline, stallDeadline) = (nil, nil)
                handle(FrameContent(message), room: room)
            } catch {
                refuse("frame length")
            }
        }
    }

    /// Starts the deadlines for the rest of a partly received frame.
    private mutating func awaitRest() {
        guard receiver.holdsPart else { return }
        if frameDeadline == nil { frameDeadline = .after(connection.limits.frameDeadline) }
        if case .long? = room, stallDeadline == nil { stallDeadline = .after(connection.limits.stallPause) }
    }

    private var mayStartRequest: Bool { connection.requestCount < connection.limits.requestsPerConnection }

    /// Reserves the memory for what has arrived of a frame and for the next read, and for the request once it is complete.
    private mutating func takeRoom(_ length: Int) throws(WireError) -> Bool {
        let (requests, claim) = (connection.desk.memory.requests, LockedMemoryBudget.cost(ofRequest: length))
        let onRelease: @Sendable () -> Void = { [connection] in connection.executor.wake() }
        if length <= LockedMemoryBudget.smallest {
            if room == nil {
                room = (ownMemory.reserve(claim) ?? requests.reserve(claim, onRelease: onRelease)).map {
                    .short($0)
                }
            }
            return room != nil
        }
        var octets = claim
        if try !receiver.holdsFrame() {
            let capacity = try receiver.nextCapacity()
            // The connection's own buffer is large enough.
            guard capacity > LockedMemoryBudget.smallest else { return true }
            octets = min(claim, LockedMemoryBudget.cost(ofBuffer: capacity))
        }
        let frame: LockedMemoryBudget.ArrivingFrame
        if case .long(let present)? = room {
            frame = present
        } else {
            frame = LockedMemoryBudget.ArrivingFrame(in: requests, claim: claim)
            room = .long(frame)
        }
        return frame.grow(to: octets, onRelease: onRelease)
    }

    private mutating func handle(_ content: consuming FrameContent, room: RequestRoom) {
        switch consume content {
        case .malformed(let id):
            if let id { send(KeychainError(.param), to: id) }
            refuse("malformed frame")
        case .refused(let id, let error):
            // A reply to a number that was already answered would be taken for that answer.
            guard helloDeadline == nil, id > lastID else { return refuse("request number") }
            lastID = id
            send(error, to: id)
        case .request(let head, let request):
            guard head.id > lastID else { return refuse("request number") }
            lastID = head.id
            // Before the greeting, the client learns nothing about which methods exist. Checked here and not where
            // the request is decoded, because Swift 6.3 cannot compile that for release.
            guard helloDeadline != nil || connection.visit.admits(head.method) else {
                return refuseMethod(head.id)
            }
            handle(request, head, room: room)
        }
    }

    private mutating func handle(
        _ request: consuming Request,
        _ head: RequestHead,
        room: RequestRoom
    ) {
        let id = head.id
        switch consume request {
        case .hello(let hello):
            guard helloDeadline != nil, ConstantTime.areEqual(hello.nonce, nonce) else {
                send(KeychainError(.authFailed), to: id)
                return refuse("nonce")
            }
            helloDeadline = nil
            sendOrStop(ReplyHead(id: id).message(EmptyBody()))
        case let other where helloDeadline != nil:
            _ = consume other
            send(KeychainError(.badReq), to: id)
            refuse("no hello")
        case .cancel(let body):
            connection.cancel(body.id)
            sendOrStop(ReplyHead(id: id).message(EmptyBody()))
        case .invalidateContext(let body):
            for request in connection.visit.invalidateContext(body.number) { connection.cancel(request) }
            sendOrStop(ReplyHead(id: id).message(EmptyBody()))
        case let other: connection.start(other, head, room: room)
        }
    }

    // MARK: Refusals

    private mutating func refuse(_ reason: String) {
        connection.desk.failures.recordRefusal(reason, by: connection.caller)
        connection.giveUp()
        stopReading()
    }

    private mutating func refuseMethod(_ id: UInt64) {
        send(KeychainError(.missingEntitlement), to: id)
        connection.giveUp()
        stopReading()
    }

    private mutating func send(_ error: KeychainError, to id: UInt64) {
        sendOrStop(RequestHandler.failed(error, id: id))
    }

    private mutating func sendOrStop(_ message: borrowing SecretBuffer) {
        do throws(WireError) {
            try connection.send(message)
        } catch {
            connection.giveUp()
            stopReading()
        }
    }

    private mutating func stopReading() {
        guard isReading else { return }
        isReading = false
        hold = .none
        room = nil
        // A request of a client that has disconnected must not keep a prompt on the screen.
        connection.cancelAll()
    }

    // MARK: Waiting

    private mutating func waitForSomething() {
        if isReading, case .none = hold, deadline == nil, connection.requestCount == 0,
            connection.executor.mayWaitForRequest()
        {
            receive(waits: true)
            return connection.executor.hasReceived()
        }
        var mayReceive = false
        var mayGoOn = false
        switch hold {
        case .none: mayReceive = isReading
        // A request may have ended since the frame was checked.
        case .requests: mayGoOn = mayStartRequest
        case .room: break
        }
        let isAsleep = !mayGoOn && connection.executor.maySleep()
        var descriptors = (
            pollfd(fd: connection.executor.wakeup, events: Int16(POLLIN), revents: 0),
            pollfd(fd: isReading ? connection.socket : -1, events: mayReceive ? Int16(POLLIN) : 0, revents: 0)
        )
        let timeout = isAsleep ? pollTimeout : 0
        _ = unsafe withUnsafeMutablePointer(to: &descriptors) { pair in
            unsafe pair.withMemoryRebound(to: pollfd.self, capacity: 2) { unsafe poll($0, 2, timeout) }
        }
        connection.executor.awoke(bySignal: descriptors.0.revents != 0)
        guard isReading else { return }
        if descriptors.1.revents & Int16(POLLIN) != 0 {
            receive(waits: false)
        } else if descriptors.1.revents != 0 {
            connection.giveUp()
            stopReading()
        } else if let deadline, deadline <= .now() {
            deadlinePassed()
        }
    }

    private mutating func deadlinePassed() {
        let now = MonotonicTime.now()
        if let helloDeadline, helloDeadline <= now { return refuse("hello deadline") }
        if let frameDeadline, frameDeadline <= now { return refuse("frame deadline") }
        // The memory of a frame that does not go on is given to those that wait for some.
        guard !connection.desk.memory.requests.isWanted else { return refuse("frame stalled") }
        stallDeadline = .after(connection.limits.stallPause)
    }

    private mutating func receive(waits: Bool) {
        do throws(WireError) {
            var sender: Int32 = 0
            let progress = unsafe try receiver.receive { room in
                unsafe clinux_receive(
                    connection.socket,
                    room.baseAddress,
                    room.count,
                    waits ? 0 : CInt(MSG_DONTWAIT),
                    &sender
                )
            }
            switch progress {
            case .received:
                stallDeadline = nil
                connection.received(from: sender)
            case .wouldBlock: break
            case .closed:
                connection.giveUp()
                stopReading()
            }
        } catch .frameLength {
            refuse("frame length")
        } catch {
            connection.giveUp()
            stopReading()
        }
    }

    private var deadline: MonotonicTime? {
        [helloDeadline, frameDeadline, stallDeadline].compactMap { $0 }.min()
    }

    private var pollTimeout: CInt { isReading ? deadline?.pollTimeout ?? -1 : -1 }
}
