import KeychainModel

/// The initial state of an evaluation.
struct SessionSetup: Sendable {
    /// The required factors.
    var requirement: AuthenticationRequirement
    /// The saved counts of failed attempts.
    var record: AttemptRecord
    /// Whether a finger can open the keybag, because it is unlocked or its key is in escrow.
    var isKeybagUnlocked: Bool
    /// Why the passcode is required before any finger; nil if it is not.
    var passcodeDue: DriverCause?
    /// The channels on which a touch alone counts.
    var seen = SeenChannels()
    /// The channels the prompt could appear on.
    var channels: Set<PromptChannel> = []
    /// How long the sensor must be left alone.
    var sensorDelay: Duration = .zero
    /// The caller, the reason and the titles of the buttons.
    var request: PromptRequest
    /// The heading of the prompt; nil for the default.
    var heading: String?
    /// Limits and timeouts.
    var configuration = AuthenticationConfiguration()
}

/// The factors that a prompt asks for.
enum SessionStage: Sendable, Equatable {
    case passcode
    case finger
    case either

    var takesFinger: Bool { self != .passcode }
    var takesPasscode: Bool { self != .finger }
}

extension SessionSetup {
    /// The prompt of a stage.
    ///
    /// - Parameters:
    ///   - stage: the factors it asks for.
    ///   - isUnlocked: whether a finger can open anything now.
    ///   - isUnseen: whether the passcode is required because it was not typed on this channel yet.
    ///   - message: what happened before.
    /// - Returns: the prompt.
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
        // Only a prompt for fingers alone needs a fallback button; the others have an entry field.
        let hasFallback = stage == .finger && requirement == .biometry
        return Prompt(
            input,
            requester: request.caller.displayName,
            startedBy: request.caller.startedBy,
            reason: request.reason,
            details: request.details,
            heading: heading ?? words,
            error: message,
            cancelTitle: request.cancelTitle,
            fallbackTitles: hasFallback ? request.fallbackTitles : [],
            timeout: stage == .finger ? configuration.biometryTimeout : configuration.promptTimeout
        )
    }
}
