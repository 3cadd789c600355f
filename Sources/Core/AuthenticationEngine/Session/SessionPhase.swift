import KeychainModel

extension AuthenticationSession {
    /// What an evaluation is at: one thing at a time.
    enum Phase: Sendable {
        /// No box is up: before the start, and within an event that goes on from here.
        case idle(Sensor)
        /// The enrolled fingers are being looked at; no box is up, and the sensor is off.
        case looking(Check)
        /// A box is up.
        case asking(Box, Sensor)
        /// The sensor's last word is awaited before the next step.
        case stopping(Stop)
        /// The passcode is being tried; no box is up, and the sensor is off.
        case trying(Trying)
        /// Whatever comes now is ignored.
        case over
    }

    /// The sensor, as far as it was asked for.
    enum Sensor: Sendable, Equatable {
        case off
        /// Waits until the box has been visible for a while, or the sensor may be tried again.
        case waiting(Int)
        /// Is armed as soon as it is ours.
        case claiming
        case armed
    }

    /// Why the enrolled fingers are being looked at.
    enum Check: Sendable {
        case atStart
        case afterPasscode
        case afterMatch
    }

    /// A box that was put up.
    struct Box: Sendable {
        let number: Int
        let message: String?
        var isVisible = false
        var channel: PromptChannel?
    }

    /// A sensor that was asked to stop.
    struct Stop: Sendable {
        /// The box that is still up; nil once it was answered.
        var box: Box?
        /// Whether it was armed; otherwise it was only being claimed.
        let isArmed: Bool
        /// What happens once it is off.
        var next: Next
    }

    /// What happens once the sensor is off.
    enum Next: Sendable {
        case show
        case tryPasscode
        case end(AuthenticationError)
    }

    /// A passcode that was counted and is being tried.
    struct Trying: Sendable {
        /// The counts before it was counted.
        let uncounted: AttemptRecord
        /// Why the evaluation ends once it has been judged.
        var doom: AuthenticationError?
    }
}

extension AuthenticationSession {
    /// The box that is up.
    var box: Box? {
        switch phase {
        case .asking(let box, _): box
        case .stopping(let stop): stop.box
        case .idle, .looking, .trying, .over: nil
        }
    }

    /// The sensor's state; off where a phase has none.
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

    /// The box was answered: it is gone, the sensor is as it was.
    mutating func dropBox() {
        switch phase {
        case .asking(_, let sensor): phase = .idle(sensor)
        case .stopping(var stop):
            stop.box = nil
            phase = .stopping(stop)
        case .idle, .looking, .trying, .over: break
        }
    }

    /// The box became visible.
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

    /// The sensor is in another state now; what was to follow its end, and what was being tried, is dropped.
    mutating func turn(_ sensor: Sensor) {
        switch phase {
        case .asking, .stopping, .idle, .trying:
            phase = box.map { .asking($0, sensor) } ?? .idle(sensor)
        case .looking, .over: break
        }
    }
}
