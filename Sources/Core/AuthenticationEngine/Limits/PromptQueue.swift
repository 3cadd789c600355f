/// Says whose box comes next: one at a time, each user in turn, first come first served within a user.
struct PromptQueue: Sendable {
    /// What a request may do.
    enum Admission: Sendable, Equatable {
        /// It is its turn.
        case go
        /// It waits, under this number.
        case wait(Int)
        /// Too many of this user wait already.
        case refused
    }

    private struct Entry: Sendable {
        let ticket: Int
        let uid: UInt32
    }

    /// Whether a request has its turn.
    private(set) var isBusy = false
    private var waiting: [Entry] = []
    private var nextTicket = 0
    private var turns = 0
    /// When each user last had a turn, counted in turns; holds users that wait, and the present one.
    private var lastTurn: [UInt32: Int] = [:]

    /// A request of `uid` wants a box.
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

    /// A request gave up waiting.
    mutating func leave(_ ticket: Int) {
        waiting.removeAll { $0.ticket == ticket }
    }

    /// The present box is gone.
    ///
    /// - Returns: the number of the request whose turn it is now.
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
