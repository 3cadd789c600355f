/// Orders prompts: one at a time, users in turn, first come first served within a user.
struct PromptQueue: Sendable {
    /// The result of entering the queue.
    enum Admission: Sendable, Equatable {
        /// The request has the turn.
        case go
        /// The request waits under this ticket.
        case wait(Int)
        /// Too many requests of this user are waiting already.
        case refused
    }

    private struct Entry: Sendable {
        let ticket: Int
        let uid: UInt32
    }

    /// Whether a request has the turn.
    private(set) var isBusy = false
    private var waiting: [Entry] = []
    private var nextTicket = 0
    private var turns = 0
    /// The number of each user's last turn; holds waiting users and the present one.
    private var lastTurn: [UInt32: Int] = [:]

    /// Enters a request of `uid` for a prompt.
    mutating func enter(uid: UInt32, waitingPerUser: Int) -> Admission {
        guard isBusy else {
            begin(uid)
            return .go
        }
        guard waiting.count(where: { $0.uid == uid }) < waitingPerUser else { return .refused }
        nextTicket += 1
        waiting.append(Entry(ticket: nextTicket, uid: uid))
        return .wait(nextTicket)
    }

    /// Removes a request that gave up waiting.
    mutating func leave(_ ticket: Int) {
        waiting.removeAll { $0.ticket == ticket }
    }

    /// Ends the present turn.
    ///
    /// - Returns: the ticket of the request that has the turn now.
    mutating func finish() -> Int? {
        isBusy = false
        let next = waiting.indices.min { order(of: waiting[$0]) < order(of: waiting[$1]) }
        guard let next else {
            lastTurn = [:]
            return nil
        }
        let entry = waiting.remove(at: next)
        begin(entry.uid)
        return entry.ticket
    }

    private mutating func begin(_ uid: UInt32) {
        isBusy = true
        turns += 1
        lastTurn[uid] = turns
    }

    private func order(of entry: Entry) -> (turn: Int, ticket: Int) {
        (lastTurn[entry.uid] ?? 0, entry.ticket)
    }
}
