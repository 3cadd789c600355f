import Glibc
import KeychainClient
import KeychainModel
import Testing
import TouchstoneTesting

@Suite(
    "Power loss",
    .serialized,
    .enabled(if: Strace.isThere, "needs root and strace")
)
struct PowerLossTests {
    /// Opens the files of each moment, several concurrently; returns the moments with faults.
    private func faulty(_ moments: [Recording.Moment]) async throws -> [String] {
        try await withThrowingTaskGroup(of: String?.self) { group in
            var faulty: [String] = []
            for (index, moment) in moments.enumerated() {
                if index >= 4, let fault = try await group.next() ?? nil { faulty.append(fault) }
                group.addTask {
                    let model = Change.model(afterAnswers: moment.answers)
                    let faults = try await OpenedImage(moment.image).faults(model)
                    return faults.isEmpty ? nil : "\(moment.name): \(faults)"
                }
            }
            for try await fault in group { if let fault { faulty.append(fault) } }
            return faulty
        }
    }

    // Catches synchronous=NORMAL, a missing flush, and a rename before the file's content is synced.
    @Test(
        "after lost or torn unsynced writes all acknowledged changes are present",
        .timeLimit(.minutes(CaseSize.of(20, full: 90)))
    )
    func items() async throws {
        let keychain = try await PrivateKeychain.withFormerItems()
        let recording = try await Recording(of: keychain) {
            for change in Change.script { try keychain.apply(change) }
            try keychain.client.lock()
        }
        keychain.stop(with: SIGKILL)
        // The recording is complete: replayed, it yields exactly the current files.
        var disk = Disk(recording.first)
        for event in recording.events { disk.apply(event) }
        var coins = SplitMix64(seed: 1)
        #expect(disk.image(.none, using: &coins).differences(from: recording.last) == [])
        // One reply for each change and one for the lock.
        #expect(recording.events.count { $0 == .reply } == Change.script.count + 1)

        let wanted = CaseSize.of(250, full: 50_000)
        var seen: Set<Recording.Seen> = []
        var kinds: [Disk.Loss: Int] = [:]
        var judged = 0
        // Random losses differ in each round; images already judged are left out.
        for _ in 0..<1000 where judged < wanted {
            let throwing = Array(repeating: Disk.Loss.random, count: CaseSize.of(5, full: 40))
            let moments = recording.moments(
                losses: Disk.Loss.allCases + throwing,
                count: wanted - judged,
                coins: &coins,
                seen: &seen
            )
            #expect(try await faulty(moments) == [])
            for moment in moments { kinds[moment.loss, default: 0] += 1 }
            judged += moments.count
        }
        #expect(judged >= wanted && kinds.count == Disk.Loss.allCases.count, "\(kinds)")

        // Control: if the log is not synced, as with synchronous=NORMAL, changes are lost.
        let unsynced = recording.moments(losses: [.all], count: 20, unsynced: "items.sqlite-wal")
        let losses = try await faulty(unsynced.filter { $0.answers > 0 })
        #expect(!losses.isEmpty, "nothing was lost where the log is not synced")
    }

    @Test("power loss during set-up leaves no keychain or one that opens, and after set-up one that opens")
    func setUp() async throws {
        let keychain = try PrivateKeychain()
        let directory = keychain.layout.dataDirectory
        try FileImage().write(to: directory)
        let log = keychain.home.appending("calls")
        try await keychain.start(through: Strace.wrapper(Strace.recording(to: log)))
        try keychain.client.setUp(keychain.prompt())
        keychain.stop(with: SIGTERM)
        let last = try FileImage(of: directory)
        let events = try FileEvent.read(log: log, directory: directory).filter { $0 != .reply }
        let recording = Recording(first: FileImage(), last: last, events: events)
        for moment in recording.moments(count: 60) {
            let isMade = moment.event == events.count - 1
            let name = "event \(moment.event) of \(events.count), lost: \(moment.loss)"
            try await KillPointTests.checkMade(moment.image, isMade: isMade, name)
        }
        var disk = Disk(recording.first)
        for event in events { disk.apply(event) }
        var coins = SplitMix64(seed: 1)
        #expect(disk.image(.none, using: &coins).differences(from: last) == [])
    }

    @Test("power loss during a passcode change leaves exactly one valid passcode, and afterwards the new one")
    func passcodeChange() async throws {
        let new = "harbour velvet copper lantern sparrow"
        let keychain = try await PrivateKeychain.withFormerItems()
        let directory = keychain.layout.dataDirectory
        let first = try FileImage(of: directory)
        let log = keychain.home.appending("calls")
        let strace = try await Strace.attach(to: keychain.processID, Strace.recording(to: log))
        try keychain.tellPerson([.types(PrivateKeychain.passcode), .types(new)])
        try keychain.client.changePasscode(keychain.prompt())
        strace.detach()
        keychain.stop(with: SIGKILL)
        let events = try FileEvent.read(log: log, directory: directory).filter { $0 != .reply }
        let recording = Recording(first: first, last: try FileImage(of: directory), events: events)
        var outcomes: [String: Int] = [:]
        for moment in recording.moments(count: 60) {
            let found = try await OpenedImage(moment.image, passcodes: [PrivateKeychain.passcode, new])
            let name = "event \(moment.event) of \(events.count), lost: \(moment.loss)"
            #expect(found.opening.count == 1, "\(name): \(found.state)")
            #expect(found.faults(Change.model(afterAnswers: 0)).isEmpty, "\(name)")
            if moment.event == events.count - 1 { #expect(found.opening == [new], "\(name)") }
            for passcode in found.opening { outcomes[passcode, default: 0] += 1 }
        }
        #expect(outcomes.count == 2, "\(outcomes)")
    }
}
