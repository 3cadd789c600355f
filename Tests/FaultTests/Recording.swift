import KeychainModel
import TouchstoneTesting

/// A daemon's writes during an action, and the files before it: every state that a crash or power loss can
/// leave is derived from it.
struct Recording {
    let first: FileImage
    let last: FileImage
    let events: [FileEvent]

    /// Records a running daemon's writes during `body`.
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

    /// An image after some events and answers, with one fate of the unsynced writes.
    struct Moment {
        let event: Int
        let answers: Int
        let loss: Disk.Loss
        let image: FileImage
        var name: String { "event \(event), \(answers) answers, lost: \(loss)" }
    }

    /// Identifies an image that was already judged.
    struct Seen: Hashable {
        let image: Int
        /// The same files are judged again if more answers were given.
        let answers: Int
    }

    /// Every kind of loss, and five random ones.
    static let usualLosses = Disk.Loss.allCases + Array(repeating: .random, count: 5)

    /// All images not judged before, thinned out to about `count`.
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

    /// The same with one sequence of random losses.
    func moments(
        losses: [Disk.Loss] = usualLosses,
        count: Int,
        unsynced: String? = nil
    ) -> [Moment] {
        var coins = SplitMix64(seed: 2)
        var seen: Set<Seen> = []
        return moments(losses: losses, count: count, unsynced: unsynced, coins: &coins, seen: &seen)
    }

    /// Differences between the files and the replayed events; empty if everything was recorded.
    var gaps: [String] {
        var disk = Disk(first)
        for event in events { disk.apply(event) }
        var coins = SplitMix64(seed: 1)
        return disk.image(.none, using: &coins).differences(from: last)
    }
}
