import KeychainModel

@testable import AuthenticationEngine

/// Feeds events to a session and keeps the actions of the last one.
struct Drive: ~Copyable {
    var session: AuthenticationSession
    var now = BootTime(bootID: "one", nanoseconds: 1_000_000_000)
    var last: [SessionAction] = []

    init(
        _ requirement: AuthenticationRequirement,
        unlocked: Bool = true,
        due: DriverCause? = nil,
        record: AttemptRecord = AttemptRecord(),
        seen: [PromptChannel] = [SessionEvent.channel]
    ) {
        guard let group = AccessGroup("tests") else { fatalError("a group has a name") }
        let caller = Caller(uid: 1, pid: 2, processStart: 3, program: nil, accessGroup: group)
        session = AuthenticationSession(
            SessionSetup(
                requirement: requirement,
                record: record,
                isKeybagUnlocked: unlocked,
                passcodeDue: due,
                seen: SeenChannels(seen),
                channels: [SessionEvent.channel],
                request: PromptRequest(caller: caller, origin: PromptOrigin())
            )
        )
    }

    /// Feeds events; keeps the actions of the last one.
    mutating func feed(_ events: SessionEvent...) {
        for event in events { last = session.handle(event, at: now) }
    }

    /// Brings a session with fingerprints to the point where the sensor is armed.
    mutating func arm() {
        feed(.started, .enrolment(.ready), .shown(box: 1), .elapsed(1), .claimed, .sensor(.armed))
    }

    /// The error with which the session ended, if it did.
    var end: AuthenticationError? {
        guard case .fail(let error)? = last.last else { return nil }
        return error
    }

    var shown: Prompt? {
        for case .show(let prompt, _) in last { return prompt }
        return nil
    }
}

extension SessionEvent {
    /// The channel on which prompts are shown.
    static let channel = PromptChannel("the terminal")

    /// A prompt shown on that channel.
    static func shown(box: Int) -> SessionEvent { .shown(box: box, on: channel) }
}
