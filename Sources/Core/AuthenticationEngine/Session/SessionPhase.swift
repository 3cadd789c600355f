import KeychainModel

extension AuthenticationSession {
    /// The phase of an evaluation: one at a time.
    enum Phase: Sendable {
        /// No prompt is shown: before the start, and between two phases within one event.
        case idle(Sensor)
        /// The enrolled fingers are being checked; no prompt is shown, and the sensor is off.
        case looking(Check)
        /// A prompt is shown.
        case asking(Box, Sensor)
        /// The sensor's last report is awaited before the next step.
        case stopping(Stop)
        /// The passcode is being tried; no prompt is shown, and the sensor is off.
        case trying(Trying)
        /// The evaluation has ended; further events are ignored.
        case over
    }

    /// The sensor's state, as requested by this evaluation.
    enum Sensor: Sendable, Equatable {
        case off
        /// Waits until the prompt has been visible for a while, or the sensor may be tried again.
        case waiting(Int)
        /// Is armed as soon as the claim succeeds.
        case claiming
        case armed
    }

    /// Why the enrolled fingers are being checked.
    enum Check: Sendable {
        case atStart
        case afterPasscode
        case afterMatch
    }

    /// A prompt that was shown.
    struct Box: Sendable {
        let number: Int
        let message: String?
        var isVisible = false
        var channel: PromptChannel?
    }

    /// A sensor that was told to stop.
    struct Stop: Sendable {
        /// The prompt that is still shown; nil once it was answered.
        var box: Box?
        /// Whether the sensor was armed; otherwise it was only being claimed.
        let isArmed: Bool
        /// The step once the sensor is off.
        var next: Next
    }

    /// The step after the sensor is off.
    enum Next: Sendable {
        case show
        case tryPasscode
        case end(AuthenticationError)
    }

    /// A counted passcode that is being tried.
    struct Trying: Sendable {
        /// The counts before this attempt.
        let uncounted: AttemptRecord
        /// The error with which the evaluation ends once the passcode was judged.
        var doom: AuthenticationError?
    }
}

extension AuthenticationSession {
    /// The prompt that is shown.
    var box: Box? {
        switch phase {
        case .asking(let box, _): box
        case .stopping(let stop): stop.box
        case .idle, .looking, .trying, .over: nil
        }
    }

    /// The sensor's state; off in phases without a sensor.
    var sensor: Sensor {
        switch phase {
        case .idle(let sensor), .asking(_, let sensor): sensor
        case .stopping(let stop): stop.isArmed ? .armed : .claiming
        case .looking, .trying, .over: .off
        }
    }

    /// Whether the evaluation has ended.
    var isOver: Bool {
        if case .over = phase { true } else { false }
    }

    /// Removes an answered prompt; the sensor's state is unchanged.
    mutating func dropBox() {
        switch phase {
        case .asking(_, let sensor): phase = .idle(sensor)
        case .stopping(var stop):
            stop.box = nil
            phase = .stopping(stop)
        case .idle, .looking, .trying, .over: break
        }
    }

    /// Records that the prompt became visible.
    mutating func noteVisible(on channel: PromptChannel?) {
        func visible(_ box: Box) -> Box {
            Box(number: box.number, message: box.message, isVisible: true, channel: channel)
        }
        switch phase {
        case .asking(let box, let sensor): phase = .asking(visible(box), sensor)
        case .stopping(var stop):
            stop.box = stop.box.map(visible)
            phase = .stopping(stop)
        case .idle, .looking, .trying, .over: break
        }
    }

    /// Changes the sensor's state; a step that was to follow, and a passcode being tried, are dropped.
    mutating func turn(_ sensor: Sensor) {
        switch phase {
        case .asking, .stopping, .idle, .trying:
            phase = box.map { .asking($0, sensor) } ?? .idle(sensor)
        case .looking, .over: break
        }
    }
}
