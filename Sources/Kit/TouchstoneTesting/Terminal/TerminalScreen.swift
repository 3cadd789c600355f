import CLinux
import Glibc
import SecretMemory

/// The output on a terminal and the tasks waiting for it; a thread reads until the terminal is closed.
final class TerminalScreen: Sendable {
    /// The maximum number of bytes kept, in case a program draws without end.
    private static let largestByteCount = 4 * 1024 * 1024

    /// How a wait ended.
    enum Found: Equatable {
        case text(Int)
        case timedOut
        case closed
        case cancelled
    }

    private struct Waiter {
        let identifier: Int
        let texts: [[UInt8]]
        let deadline: ContinuousClock.Instant
        let continuation: CheckedContinuation<Found, Never>
    }

    /// How long a person takes to read a prompt before pressing keys; a prompt discards keys pressed sooner than 300 ms
    /// after it appeared.
    static let reactionTime = Duration.milliseconds(600)

    private struct State {
        var primary: CInt
        /// When the last output came.
        var lastOutput: ContinuousClock.Instant?
        /// Keys that a person will press once the present output has been read.
        var laterKeys: [UInt8] = []

        /// Keys that are pressed at the moment a text appears, by the reading thread.
        var reflex: (text: [UInt8], from: Int, keys: [UInt8])?

        /// Keys that were pressed at a prompt; the person presses them again, once, if the prompt says after `from` that it
        /// discarded them: a busy machine may draw a prompt long before it reads.
        var answer: (keys: [UInt8], from: Int)?
        /// The prompt's text, without spaces.
        private static let discarded = Array("Whatwastypedbeforethispromptwasdiscarded".utf8)

        /// Presses the keys that are due.
        mutating func pressLaterKeys() {
            guard let due = keysAreDue, due <= .now else { return }
            answer = (laterKeys, text.compact.count)
            _ = write([])
        }

        /// Lets the keys of an answer be pressed again if it was discarded.
        mutating func answerAgain() {
            guard let answer, text.compact.firstIndex(of: Self.discarded, from: answer.from) != nil else {
                return
            }
            self.answer = nil
            laterKeys = answer.keys + laterKeys
        }

        /// Presses the keys of the reflex if its text has appeared.
        mutating func react() {
            guard let reflex, text.compact.firstIndex(of: reflex.text, from: reflex.from) != nil else {
                return
            }
            self.reflex = nil
            _ = write(reflex.keys)
        }

        /// When ``laterKeys`` are due; nil for none.
        var keysAreDue: ContinuousClock.Instant? {
            laterKeys.isEmpty ? nil : (lastOutput ?? .now) + TerminalScreen.reactionTime
        }

        /// Writes keys, after those that are still to be pressed.
        mutating func write(_ octets: [UInt8]) -> Bool {
            guard primary >= 0 else { return false }
            let all = laterKeys + octets
            laterKeys = []
            return unsafe Glibc.write(primary, all, all.count) == all.count
        }
        var isClosing = false
        var octets: [UInt8] = []
        var text = TerminalText()
        /// Where in the compact text the next search starts.
        var cursor = 0
        var waiters: [Waiter] = []
        var cancelled: Set<Int> = []
        var nextIdentifier = 0
    }

    private let state: Guarded<State>
    private let wake: CInt

    /// Takes over the terminal's primary side.
    init(adopting primary: CInt) throws {
        state = Guarded(State(primary: primary))
        wake = clinux_eventfd(0)
        guard wake >= 0 else { throw TerminalError.system(errno) }
        _ = fcntl(primary, F_SETFL, O_NONBLOCK)
        try startThread()
    }

    deinit { Glibc.close(wake) }

    /// The output so far, as bytes.
    var octets: [UInt8] { state.withLock { $0.octets } }

    /// The visible text so far.
    var visible: [UInt8] { state.withLock { $0.text.visible } }

    /// The leader of the session whose controlling terminal this is; nil when there is none.
    var sessionLeader: pid_t? {
        state.withLock { state in
            var leader: pid_t = 0
            // The primary side reports it to any process.
            return unsafe ioctl(state.primary, UInt(TIOCGSID), &leader) == 0 ? leader : nil
        }
    }

    /// Makes the next search start after the present output.
    func skip() { state.withLock { $0.cursor = $0.text.compact.count } }

    /// Types bytes; false when the terminal is closed or accepts no more.
    func write(_ octets: [UInt8]) -> Bool { state.withLock { $0.write(octets) } }

    /// Whether a prompt of Touchstone was drawn: each one says by whom it was requested.
    var hasShownPrompt: Bool {
        state.withLock { $0.text.compact.firstIndex(of: Array("Requestedby".utf8), from: 0) != nil }
    }

    /// Types bytes at the moment a text appears after the present output.
    func write(_ octets: [UInt8], uponSight text: String) {
        let text = text.utf8.filter { $0 > 0x20 }
        state.withLock { $0.reflex = (text, $0.text.compact.count, octets) }
    }

    /// Types bytes as soon as the present output has been there for ``reactionTime``.
    func writeOnceRead(_ octets: [UInt8]) {
        state.withLock { $0.laterKeys += octets }
        signal()
    }

    /// Closes the primary side: programs on the other side get a hang-up.
    func close() {
        state.withLock { state in state.isClosing = true }
        signal()
    }

    /// Waits for the first of several texts after the last text found.
    func wait(forAnyOf texts: [String], until deadline: ContinuousClock.Instant) async -> Found {
        let texts = texts.map { $0.utf8.filter { $0 > 0x20 } }
        let identifier = state.withLock { state in
            state.nextIdentifier += 1
            return state.nextIdentifier
        }
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let waiter = Waiter(
                    identifier: identifier,
                    texts: texts,
                    deadline: deadline,
                    continuation: continuation
                )
                let isOpen = state.withLock { state in
                    state.waiters.append(waiter)
                    return state.primary >= 0
                }
                if isOpen { signal() } else { settleWaiters() }
            }
        } onCancel: {
            state.withLock { _ = $0.cancelled.insert(identifier) }
            signal()
        }
    }

    private func signal() {
        var one: UInt64 = 1
        _ = unsafe Glibc.write(wake, &one, MemoryLayout<UInt64>.size)
    }

    // MARK: The thread

    private func startThread() throws {
        let this = unsafe Unmanaged.passRetained(self)
        var thread = pthread_t()
        let result = unsafe pthread_create(
            &thread,
            nil,
            { argument in
                guard let argument = unsafe argument else { return nil }
                unsafe Unmanaged<TerminalScreen>.fromOpaque(argument).takeRetainedValue().readUntilClosed()
                return nil
            },
            this.toOpaque()
        )
        guard result == 0 else {
            unsafe this.release()
            throw TerminalError.system(result)
        }
        pthread_detach(thread)
    }

    private func readUntilClosed() {
        var isOpen = true
        while isOpen {
            let (primary, deadline, isClosing) = state.withLock { state in
                state.pressLaterKeys()
                let deadlines = state.waiters.map(\.deadline) + [state.keysAreDue].compactMap { $0 }
                return (state.primary, deadlines.min(), state.isClosing)
            }
            isOpen = !isClosing && read(from: primary, until: deadline)
            if !isOpen {
                state.withLock { state in
                    Glibc.close(state.primary)
                    state.primary = -1
                }
            }
            settleWaiters()
        }
    }

    private func drainWake() {
        var count: UInt64 = 0
        _ = unsafe Glibc.read(wake, &count, MemoryLayout<UInt64>.size)
    }

    /// Waits for output, a wake-up or the deadline, and takes the available output.
    private func read(from primary: CInt, until deadline: ContinuousClock.Instant?) -> Bool {
        var watched = [
            pollfd(fd: primary, events: Int16(POLLIN), revents: 0),
            pollfd(fd: wake, events: Int16(POLLIN), revents: 0),
        ]
        let left = deadline.map { max(.zero, ContinuousClock.now.duration(to: $0)) }
        let timeout = left.map { CInt(clamping: $0.components.seconds * 1000 + 1 + $0.milliseconds) } ?? -1
        _ = unsafe poll(&watched, 2, timeout)
        if watched[1].revents != 0 { drainWake() }
        guard watched[0].revents != 0 else { return true }
        var room = [UInt8](repeating: 0, count: 16 * 1024)
        let count = unsafe Glibc.read(primary, &room, room.count)
        guard count > 0 else { return count < 0 && (errno == EAGAIN || errno == EINTR) }
        state.withLock { state in
            state.lastOutput = .now
            guard state.octets.count < Self.largestByteCount else { return }
            state.octets += room[..<count]
            for octet in room[..<count] { state.text.take(octet) }
            state.react()
            state.answerAgain()
        }
        return true
    }

    private func settleWaiters() {
        let settled = state.withLock { state in
            var settled: [(CheckedContinuation<Found, Never>, Found)] = []
            var waiting: [Waiter] = []
            for waiter in state.waiters {
                if let found = Self.look(for: waiter, in: &state) {
                    settled.append((waiter.continuation, found))
                } else {
                    waiting.append(waiter)
                }
            }
            state.waiters = waiting
            return settled
        }
        for (continuation, found) in settled { continuation.resume(returning: found) }
    }

    private static func look(for waiter: Waiter, in state: inout State) -> Found? {
        if state.cancelled.remove(waiter.identifier) != nil { return .cancelled }
        var best: (index: Int, start: Int, end: Int)?
        for (index, text) in waiter.texts.enumerated() {
            guard let start = state.text.compact.firstIndex(of: text, from: state.cursor) else { continue }
            if best.map({ start < $0.start }) ?? true { best = (index, start, start + text.count) }
        }
        if let best {
            state.cursor = best.end
            return .text(best.index)
        }
        if state.primary < 0 { return .closed }
        return waiter.deadline <= ContinuousClock.now ? .timedOut : nil
    }
}

extension Duration {
    fileprivate var milliseconds: Int64 { components.attoseconds / 1_000_000_000_000_000 }
}

extension [UInt8] {
    /// The index of the first occurrence of a sequence, at or after `start`.
    fileprivate func firstIndex(of text: [UInt8], from start: Int) -> Int? {
        guard count - start >= text.count else { return nil }
        return (start...(count - text.count)).first { self[$0..<($0 + text.count)].elementsEqual(text) }
    }
}
