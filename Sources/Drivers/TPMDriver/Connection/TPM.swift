public import KeychainModel

/// The chip: one connection to it, and the thread that waits for its responses.
///
/// Nothing is opened before the first command. If the connection is lost, the next command opens a new one. tpm2-tss
/// prints to standard error, and with some settings everything that passes through it: a program that uses this type
/// has to be started with ``libraryEnvironment`` in its environment.
///
/// One object stays loaded in the chip until ``close()``, and two sessions for as long as they are used: a TPM
/// without resource manager has room for at least three of each, for all its users.
public actor TPM {
    /// The kernel's resource manager.
    public static let resourceManager = "device:/dev/tpmrm0"

    /// The variables that silence tpm2-tss; otherwise it prints, at some levels even secrets.
    public static let libraryEnvironment = ["TSS2_LOG": "all+NONE"]

    private let configuration: String
    /// The notes of the chip's indices.
    let notes: (any HardwareNotes)?
    private let thread = TPMThread()
    private let sessionTime: Duration
    private var connection: TPMConnection?
    /// A connection that is being opened since the chip did not respond.
    private var opening: TransportOpening?
    private var commandsOfClosedConnections = 0
    /// When the chip last failed to respond in time.
    private var silence: ContinuousClock.Instant?
    /// Flushes idle sessions; nil while there are none.
    private var sessionWatch: Task<Void, Never>?
    /// ``commandCount`` at the previous check.
    private var watchedCount = 0

    /// The thread that waits for the chip.
    public nonisolated var unownedExecutor: UnownedSerialExecutor {
        unsafe thread.asUnownedSerialExecutor()
    }

    /// Describes a chip.
    ///
    /// - Parameters:
    ///   - configuration: the transport in the form of `Tss2_TctiLdr_Initialize`: `device:` and a path, or, for
    ///     tests, `swtpm:path=` and a socket. It comes from the program's own configuration, never from a client: a
    ///     transport is a library that gets loaded.
    ///   - notes: records indices before they are created; without it, an index left behind by a crash stays in the
    ///     chip.
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

    /// Flushes the loaded objects and closes the connection; the next command opens a new one.
    public func close() {
        connection?.close()
        drop()
    }

    /// The number of commands sent to the chip so far.
    package var commandCount: Int { commandsOfClosedConnections + (connection?.commandCount ?? 0) }

    private func watchSessions() {
        sessionWatch = Task { [weak self, sessionTime] in
            repeat { try? await Task.sleep(for: sessionTime) } while await self?.flushIdleSessions() == false
        }
    }

    /// Flushes the sessions, unless a command was sent since the previous check; returns whether it did.
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

    /// Runs `body` with the connection, and again with a new one if the connection was lost, or if a session was out of
    /// step: then the chip refuses what is right, which looks like a wrong passcode.
    ///
    /// So `body` must be safe to run twice.
    func withConnection<R: ~Copyable>(
        _ body: (TPMConnection) throws(TPMError) -> R
    ) throws(TPMError) -> R {
        if let silence, ContinuousClock.now - silence < Self.pauseAfterSilence { throw .silent }
        var start = ContinuousClock.now
        do throws(TPMError) {
            return try body(try opened())
        } catch {
            if isSilence(error, since: start) { throw fallenSilent() }
            if error.isRefusal, connection?.isOutOfStep() == true {
                connection?.close()
            } else {
                guard error.isLostConnection else { throw try described(error) }
            }
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

    /// How long commands fail at once after the chip did not respond: one request sends several.
    private static let pauseAfterSilence = Duration.seconds(3)

    /// A simulator's transport reports a socket timeout as a failed connection.
    private func isSilence(_ error: TPMError, since start: ContinuousClock.Instant) -> Bool {
        let limit = Duration.milliseconds(Int64(AnswerTime.limit))
        return error.isSilence || error.isLostConnection && ContinuousClock.now - start >= limit
    }

    /// Drops a connection on which a late response may still arrive.
    private func fallenSilent() -> TPMError {
        drop()
        silence = .now
        return .silent
    }

    /// Adds to a lockout error how long it lasts at most.
    private func described(_ error: TPMError) throws(TPMError) -> TPMError {
        guard case .response(let code) = error, code.tpmError == ResponseCode.lockout, let connection else {
            return error
        }
        return .lockedOut(code, seconds: Int64(try connection.lockoutInterval()))
    }

    private func opened() throws(TPMError) -> TPMConnection {
        if sessionWatch == nil { watchSessions() }
        if let connection { return connection }
        let opening = if let opening { opening } else { try TransportOpening(configuration) }
        self.opening = opening
        let transport: OpaquePointer?
        do throws(TPMError) {
            unsafe transport = try opening.wait()
        } catch {
            // One that is still going on is waited for again.
            if !error.isSilence { self.opening = nil }
            throw error
        }
        self.opening = nil
        let opened = unsafe try TPMConnection(configuration, transport)
        connection = opened
        return opened
    }

    private func drop() {
        commandsOfClosedConnections += connection?.commandCount ?? 0
        connection = nil
    }
}
