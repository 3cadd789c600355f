import Glibc
import KeychainModel
import SecretMemory

/// Our end of the socket that serves as a pinentry program's input and output.
///
/// Received bytes go straight into locked memory, and their number is limited.
struct AssuanConnection: ~Copyable {
    /// The events that may end a wait besides a response.
    struct Interruptions {
        /// Becomes readable when the task is cancelled.
        var cancel: CInt
        /// The terminal that the prompt is drawn on.
        var terminal: PinentryTerminal?
    }

    /// How often the terminal is checked for a client in the background, which no event reports.
    static let backgroundCheckMilliseconds: CInt = 100

    /// The limit for the bytes of all responses of one conversation.
    static let largestConversationByteCount = 64 * 1024
    /// The longest response to one command; pinentry's own limit for a passphrase is 2048.
    static let largestAnswerByteCount = 4096

    /// Watches for keys typed too early into the prompt that is shown; nil for a prompt on a display.
    var keys: EarlyKeys?

    private let descriptor: CInt
    private let interruptions: Interruptions
    private var received = SecretBuffer(minimumCapacity: 1024)
    private var position = 0
    private var line = SecretBuffer(minimumCapacity: 1024)
    private var octetsLeft = Self.largestConversationByteCount

    /// Takes over our end; the interruptions still belong to their owners.
    init(adopting descriptor: CInt, interruptions: Interruptions) {
        self.descriptor = descriptor
        self.interruptions = interruptions
        _ = fcntl(descriptor, F_SETFL, O_NONBLOCK)
    }

    deinit { close(descriptor) }

    /// Sends one line and waits for its response.
    mutating func transact(
        _ line: [UInt8],
        until deadline: ContinuousClock.Instant
    ) throws(ExchangeFailure) -> AssuanAnswer {
        try send([line], until: deadline)
        return try answer(until: deadline)
    }

    /// Sends lines in one buffer; line ends are added.
    func send(_ lines: [[UInt8]], until deadline: ContinuousClock.Instant) throws(ExchangeFailure) {
        let longest = AssuanLine.largestByteCount
        precondition(lines.allSatisfy { $0.count <= longest }, "a line too long for Assuan")
        let octets = lines.flatMap { $0 + [UInt8(ascii: "\n")] }
        try send(SecretBytes(copying: octets), until: deadline)
    }

    /// Sends a line that contains a secret, with its line end.
    func send(
        _ line: borrowing SecretBytes,
        until deadline: ContinuousClock.Instant
    ) throws(ExchangeFailure) {
        try unsafe line.withUnsafeBytes { octets throws(ExchangeFailure) in
            try unsafe write(octets, until: deadline)
        }
    }

    /// Reads lines up to `OK` or `ERR`; `S` and `#` lines may occur anywhere before it.
    ///
    /// - Parameters:
    ///   - deadline: when to give up.
    ///   - judge: rates a secret that is being typed, when the program inquires (`INQUIRE QUALITY`).
    /// - Returns: the response.
    /// - Throws: ``ExchangeFailure`` for anything else.
    mutating func answer(
        until deadline: ContinuousClock.Instant,
        judgedBy judge: NewSecretJudge? = nil
    ) throws(ExchangeFailure) -> AssuanAnswer {
        var data = SecretBuffer()
        var statuses: Set<String> = []
        while true {
            try readLine(until: deadline)
            let kind = line.withOctets { AssuanLine.kind(of: $0.extracting(..<Self.contentCount(of: $0))) }
            switch kind {
            case .ok:
                return AssuanAnswer(error: nil, statuses: statuses, data: data.finish())
            case .error(let code):
                return AssuanAnswer(error: code, statuses: statuses, data: SecretBuffer().finish())
            case .data:
                let isDecoded = line.withOctets { line in
                    let end = Self.contentCount(of: line)
                    guard end > AssuanLine.dataOffset else { return true }
                    return AssuanLine.decode(line.extracting(AssuanLine.dataOffset..<end), into: &data)
                }
                guard isDecoded else { throw .malformed("a malformed escape") }
                guard data.count <= Self.largestAnswerByteCount else {
                    throw .malformed("too long an answer")
                }
            case .status(let keyword):
                statuses.insert(keyword)
            case .comment, .end:
                continue
            case .inquire:
                // Without a quality bar the program has no question to ask.
                guard let judge, let typed = line.withOctets(AssuanLine.judged) else {
                    throw .malformed("a question")
                }
                let percent = judge.judge(typed).signedPercent
                try send([Array("D \(percent)".utf8), Array("END".utf8)], until: deadline)
            case .unknown:
                throw .malformed("a line that is not Assuan's")
            }
        }
    }

    /// The length of a line without a CR at its end.
    private static func contentCount(of line: Span<UInt8>) -> Int {
        !line.isEmpty && line[line.count - 1] == UInt8(ascii: "\r") ? line.count - 1 : line.count
    }

    private mutating func readLine(until deadline: ContinuousClock.Instant) throws(ExchangeFailure) {
        line.removeAll(keepingCapacity: true)
        while true {
            let hasEnd = takeReceived()
            // One more byte for a CR before the LF.
            guard line.count <= AssuanLine.largestByteCount + 1 else { throw .malformed("too long a line") }
            if hasEnd { return }
            received.removeAll(keepingCapacity: true)
            position = 0
            try receive(until: deadline)
        }
    }

    /// Moves received bytes to ``line`` up to the line end; false if that has not arrived.
    private mutating func takeReceived() -> Bool {
        let from = position
        let (end, hasEnd) = received.withOctets { octets in
            for index in from..<octets.count where octets[index] == UInt8(ascii: "\n") {
                return (index, true)
            }
            return (octets.count, false)
        }
        received.withOctets { line.append(contentsOf: $0.extracting(from..<end)) }
        position = hasEnd ? end + 1 : end
        return hasEnd
    }

    private mutating func receive(until deadline: ContinuousClock.Instant) throws(ExchangeFailure) {
        let descriptor = descriptor
        while true {
            try wait(for: Int16(POLLIN), until: deadline)
            var reason: CInt = 0
            let count = unsafe received.append(upTo: 1024) { room in
                let count = unsafe read(descriptor, room.baseAddress, room.count)
                reason = count < 0 ? errno : 0
                return max(count, 0)
            }
            switch reason {
            case 0 where count == 0: throw .closed
            case 0:
                octetsLeft -= count
                guard octetsLeft >= 0 else { throw .malformed("more than anybody asked for") }
                return
            case EAGAIN, EINTR: continue
            case ECONNRESET: throw .closed
            default: throw .system(errno: reason)
            }
        }
    }

    private func write(
        _ octets: UnsafeRawBufferPointer,
        until deadline: ContinuousClock.Instant
    ) throws(ExchangeFailure) {
        var rest = unsafe octets
        while unsafe !rest.isEmpty {
            try wait(for: Int16(POLLOUT), until: deadline)
            let count = unsafe Glibc.write(descriptor, rest.baseAddress, rest.count)
            if count >= 0 {
                unsafe rest = UnsafeRawBufferPointer(rebasing: rest[count...])
                continue
            }
            switch errno {
            case EAGAIN, EINTR: continue
            case EPIPE, ECONNRESET: throw .closed
            default: throw .system(errno: errno)
            }
        }
    }

    /// Waits until the socket is readable or writable; cancellation takes precedence, then the terminal.
    private func wait(
        for events: Int16,
        until deadline: ContinuousClock.Instant
    ) throws(ExchangeFailure) {
        var watched = [
            pollfd(fd: interruptions.cancel, events: Int16(POLLIN), revents: 0),
            // No events requested: poll(2) always reports a hang-up.
            pollfd(fd: interruptions.terminal?.descriptor ?? -1, events: 0, revents: 0),
            pollfd(fd: descriptor, events: events, revents: 0),
            pollfd(fd: -1, events: Int16(POLLIN), revents: 0),
        ]
        while true {
            let longest = interruptions.terminal == nil ? CInt.max : Self.backgroundCheckMilliseconds
            let timeout = min(deadline.pollTimeout, longest, keys?.pollTimeout ?? CInt.max)
            watched[3].fd = keys?.descriptor ?? -1
            let count = unsafe poll(&watched, nfds_t(watched.count), timeout)
            if count < 0 {
                guard errno == EINTR else { throw .system(errno: errno) }
                continue
            }
            keys?.look()
            if count == 0, interruptions.terminal?.isInBackground == true { throw .inBackground }
            if watched[0].revents != 0 { throw .cancelled }
            if watched[1].revents != 0 { throw .terminalGone }
            if watched[2].revents != 0 { return }
            if ContinuousClock.now >= deadline { throw .timedOut }
        }
    }
}

extension NewSecretJudge.Verdict {
    /// The percentage for pinentry: negative, which it draws red, for a refused secret.
    fileprivate var signedPercent: Int {
        let percent = min(max(percent, 1), 100)
        return refusal == nil ? percent : -percent
    }
}

extension ContinuousClock.Instant {
    /// The milliseconds left, rounded up, for poll(2); 0 if it has passed.
    var pollTimeout: CInt {
        let left = ContinuousClock.now.duration(to: self)
        guard left > .zero else { return 0 }
        let (seconds, attoseconds) = left.components
        guard seconds < 86_400 else { return 86_400_000 }
        return CInt(seconds * 1000 + attoseconds / 1_000_000_000_000_000 + 1)
    }
}
