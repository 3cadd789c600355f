import KeychainModel
import TouchstoneTesting

/// What a daemon wrote while something was done, from the files it began with: every state that a crash or a loss of
/// power can leave is made from it.
struct Recording {
    let first: FileImage
    let last: FileImage
    let events: [FileEvent]

    /// Records what a running daemon writes during `body`.
    init(of keychain: PrivateKeychain, _ body: () async throws -> Void) async throws {
        let directory = keychain.layout.dataDirectory
        first = try FileImage(of: directory)
        let log = keychain.home.appending("calls")
        let strace = try await Strace.attach(to: keychain.processID, Strace.recording(to: log))
        try await body()
        strace.detach()
        last = try FileImage(of: directory)
        events = try FileEvent.read(log: log, directory: directory)
    }

    init(first: FileImage, last: FileImage, events: [FileEvent]) {
        self.first = first
        self.last = last
        self.events = events
    }

    /// One image: after how many events and answers, and what became of what was not synced.
    struct Moment {
        let event: Int
        let answers: Int
        let loss: Disk.Loss
        let image: FileImage
        var name: String { "event \(event), \(answers) answers, lost: \(loss)" }
    }

    /// What was judged before.
    struct Seen: Hashable {
        let image: Int
        /// The same files are judged again where more was acknowledged.
        let answers: Int
    }

    /// Every kind of loss, and five throws of the coins.
    static let usualLosses = Disk.Loss.allCases + Array(repeating: .random, count: 5)

    /// All images that were not seen before, thinned out to about `count`.
    func moments(
        losses: [Disk.Loss] = usualLosses,
        count: Int,
        unsynced: String? = nil,
        coins: inout SplitMix64,
        seen: inout Set<Seen>
    ) -> [Moment] {
        var disk = Disk(first, unsynced: unsynced)
        var answers = 0
        var moments: [Moment] = []
        for (index, event) in events.enumerated() {
            disk.apply(event)
            if event == .reply { answers += 1 }
            for loss in losses {
                let image = disk.image(loss, using: &coins)
                guard seen.insert(Seen(image: image.digest, answers: answers)).inserted else { continue }
                moments.append(Moment(event: index, answers: answers, loss: loss, image: image))
            }
        }
        let step = max(1, moments.count / count)
        return moments.enumerated().filter { $0.offset % step == 0 || $0.offset == moments.count - 1 }.map(
            \.element
        )
    }

    /// The same for one throw of the coins.
    func moments(
        losses: [Disk.Loss] = usualLosses,
        count: Int,
        unsynced: String? = nil
    ) -> [Moment] {
        var coins = SplitMix64(seed: 2)
        var seen: Set<Seen> = []
        return moments(losses: losses, count: count, unsynced: unsynced, coins: &coins, seen: &seen)
    }

    /// What differs between the files that are there and those that the events make: nothing, where all was recorded.
    var gaps: [String] {
        var disk = Disk(first)
        for event in events { disk.apply(event) }
        var coins = SplitMix64(seed: 1)
        return disk.image(.none, using: &coins).differences(from: last)
    }
}
