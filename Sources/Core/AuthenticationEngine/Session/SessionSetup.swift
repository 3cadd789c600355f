import KeychainModel

/// What an evaluation starts from.
struct SessionSetup: Sendable {
    /// What must be shown.
    var requirement: AuthenticationRequirement
    /// The counts, as they are saved.
    var record: AttemptRecord
    /// Whether a finger can open anything at all.
    var isKeybagUnlocked: Bool
    /// Why the passcode must come before any finger; nil when it need not.
    var passcodeDue: DriverCause?
    /// Where a touch alone counts.
    var seen = SeenChannels()
    /// Where the box could be drawn.
    var channels: Set<PromptChannel> = []
    /// How long the sensor must be left alone.
    var sensorDelay: Duration = .zero
    /// Who asks, why, and the titles of the buttons.
    var request: PromptRequest
    /// What the box says first; nil for the usual words.
    var heading: String?
    /// The figures.
    var configuration = AuthenticationConfiguration()
}

/// What a box asks for.
enum SessionStage: Sendable, Equatable {
    case passcode
    case finger
    case either

    var takesFinger: Bool { self != .passcode }
    var takesPasscode: Bool { self != .finger }
}

extension SessionSetup {
    /// The box of a stage.
    ///
    /// - Parameters:
    ///   - stage: what it asks for.
    ///   - isUnlocked: whether a finger can open anything now.
    ///   - isUnseen: whether the passcode is asked for because it was not typed on this channel yet.
    ///   - message: what happened before.
    /// - Returns: the box.
    func prompt(
        _ stage: SessionStage,
        isUnlocked: Bool,
        isUnseen: Bool = false,
        message: String?
    ) -> Prompt {
        let input: Prompt.Input
        let words: String
        switch stage {
        case .passcode where requirement == .biometry || requirement == .biometryAndPasscode:
            input = .secret
            words = "Enter the keychain's passcode first, then touch the sensor"
        case .passcode where isUnseen:
            input = .secret
            words = "Enter the keychain's passcode: the first time here, a finger is not enough"
        case .passcode:
            input = .secret
            words = isUnlocked ? "Enter the keychain's passcode" : "Enter the passcode to unlock the keychain"
        case .finger:
            input = .touch
            words = "Touch the fingerprint sensor"
        case .either:
            input = .touchOrSecret
            words = "Touch the fingerprint sensor, or enter the keychain's passcode"
        }
        // Only a box for fingers alone has something to fall back to; the others have the field.
        let hasFallback = stage == .finger && requirement == .biometry
        return Prompt(
            input,
            requester: request.caller.displayName,
            reason: request.reason,
            heading: heading ?? words,
            error: message,
            cancelTitle: request.cancelTitle,
            fallbackTitle: hasFallback ? request.fallbackTitle : "",
            timeout: stage == .finger ? configuration.biometryTimeout : configuration.promptTimeout
        )
    }
}

extension Duration {
    /// Whole seconds, rounded up: what a person is told to wait.
    var wholeSeconds: Int64 {
        components.attoseconds > 0 ? components.seconds + 1 : components.seconds
    }
}
