public import KeychainModel

/// The chip: one connection to it, and the thread that waits for its answers.
///
/// Nothing is opened before the first command. When the connection is lost, the next command opens a new one.
/// The library below prints to standard error, and with some settings everything that passes through it: whoever
/// starts a program that uses this type puts ``libraryEnvironment`` into its environment.
///
/// An object stays loaded in the chip until ``close()``, and two sessions for as long as they are used: a TPM without
/// resource manager has room for three of each at least, for all its users.
public actor TPM {
    /// The kernel's resource manager.
    public static let resourceManager = "device:/dev/tpmrm0"

    /// What silences tpm2-tss; anything else lets it print, at some levels even secrets.
    public static let libraryEnvironment = ["TSS2_LOG": "all+NONE"]

    private let configuration: String
    /// Where its indices are noted.
    let notes: (any HardwareNotes)?
    private let thread = TPMThread()
    private let sessionTime: Duration
    private var connection: TPMConnection?
    private var commandsOfClosedConnections = 0
    /// When the chip last did not answer in time.
    private var silence: ContinuousClock.Instant?
    /// Flushes sessions that nobody uses any more; nil while there are none.
    private var sessionWatch: Task<Void, Never>?
    /// ``commandCount`` when it looked last.
    private var watchedCount = 0

    /// The thread that waits for the chip.
    public nonisolated var unownedExecutor: UnownedSerialExecutor {
        unsafe thread.asUnownedSerialExecutor()
    }

    /// Names a chip.
    ///
    /// - Parameters:
    ///   - configuration: the transport in the form of `Tss2_TctiLdr_Initialize`: `device:` and a path, or, for
    ///     tests, `swtpm:path=` and a socket. It comes from the program's own configuration, never from a client: a
    ///     transport is a library that gets loaded.
    ///   - notes: where indices are noted before they are made; without them, what a machine that stops leaves
    ///     behind stays there.
    ///   - sessionTime: sessions are flushed when no command was sent for this long, and at most twice as long.
    public init(
        configuration: String = TPM.resourceManager,
        notes: (any HardwareNotes)? = nil,
        sessionTime: Duration = .seconds(60)
    ) {
        self.configuration = configuration
        self.notes = notes
        self.sessionTime = sessionTime
    }

    isolated deinit { connection?.close() }

    /// Flushes what is loaded and closes the connection; the next command opens a new one.
    public func close() {
        connection?.close()
        drop()
    }

    /// How many commands were sent to the chip so far.
    package var commandCount: Int { commandsOfClosedConnections + (connection?.commandCount ?? 0) }

    private func watchSessions() {
        sessionWatch = Task { [weak self, sessionTime] in
            repeat { try? await Task.sleep(for: sessionTime) } while await self?.flushIdleSessions() == false
        }
    }

    /// Flushes the sessions, unless a command was sent since the last look; whether there are none now.
    private func flushIdleSessions() -> Bool {
        let count = commandCount
        guard count == watchedCount else {
            watchedCount = count
            return false
        }
        connection?.flushSessions()
        sessionWatch = nil
        return true
    }

    /// Lends the connection to `body`, and once more when it was found to be lost on the way.
    ///
    /// So `body` must do no harm when it runs twice.
    func withConnection<R: ~Copyable>(
        _ body: (TPMConnection) throws(TPMError) -> R
    ) throws(TPMError) -> R {
        if let silence, ContinuousClock.now - silence < Self.pauseAfterSilence { throw .silent }
        var start = ContinuousClock.now
        do throws(TPMError) {
            return try body(try opened())
        } catch {
            if isSilence(error, since: start) { throw fallenSilent() }
            guard error.isLostConnection else { throw try described(error) }
        }
        drop()
        start = .now
        do throws(TPMError) {
            return try body(try opened())
        } catch {
            if isSilence(error, since: start) { throw fallenSilent() }
            if error.isLostConnection { drop() }
            throw try described(error)
        }
    }

    /// How long a chip that did not answer is not asked again: one request asks several times.
    private static let pauseAfterSilence = Duration.seconds(3)

    /// A simulator's transport tells a socket that was silent for too long as one that failed.
    private func isSilence(_ error: TPMError, since start: ContinuousClock.Instant) -> Bool {
        let limit = Duration.milliseconds(Int64(AnswerTime.limit))
        return error.isSilence || error.isLostConnection && ContinuousClock.now - start >= limit
    }

    /// Lets go of a connection on which an answer may still come.
    private func fallenSilent() -> TPMError {
        drop()
        silence = .now
        return .silent
    }

    /// Adds to a lockout how long it lasts at most.
    private func described(_ error: TPMError) throws(TPMError) -> TPMError {
        guard case .response(let code) = error, code.tpmError == ResponseCode.lockout, let connection else {
            return error
        }
        return .lockedOut(code, seconds: Int64(try connection.lockoutInterval()))
    }

    private func opened() throws(TPMError) -> TPMConnection {
        if sessionWatch == nil { watchSessions() }
        if let connection { return connection }
        let opened = try TPMConnection(configuration)
        connection = opened
        return opened
    }

    private func drop() {
        commandsOfClosedConnections += connection?.commandCount ?? 0
        connection = nil
    }
}
