import KeychainModel
import MessageBus

/// Watches the screen savers of a user's session bus, for desktops that do not tell logind that the screen is locked, and for
/// machines without logind.
///
/// Nothing is polled. A signal counts only from the owner of the screen saver's name.
///
/// ```swift
/// let watch = ScreenSaverWatch(bus: "unix:path=/run/user/1000/bus")
/// async let _: Void = watch.run()
/// for await _ in watch.locks { await authenticator.lock() }
/// ```
package actor ScreenSaverWatch {
    private let executor = BusExecutor()
    /// The thread that reads the bus.
    package nonisolated var unownedExecutor: UnownedSerialExecutor {
        unsafe executor.asUnownedSerialExecutor()
    }

    /// Each time a screen was blanked or locked; ends with ``run()``.
    package nonisolated let locks: AsyncStream<Void>
    private nonisolated let lockSink: AsyncStream<Void>.Continuation
    private let closings: AsyncStream<Void>
    private let closingSink: AsyncStream<Void>.Continuation

    private let address: String
    private let callTimeout: Duration
    private let onForgedSignal: @Sendable () -> Void

    private var connection: ScreenSaverConnection?
    /// Whether each screen saver that has said so is active; kept while the bus is lost.
    private var states: [ScreenSaver: Bool] = [:]
    /// Those that are on the bus now and have a state.
    private var present: Set<ScreenSaver> = []
    /// Whether it is known which there are, or that there is no bus.
    private var isReady = false
    private var waiting: [CheckedContinuation<Void, Never>] = []

    /// Creates a watch; nothing is sent before ``run()``.
    ///
    /// - Parameters:
    ///   - address: the address of the session bus.
    ///   - callTimeout: how long a call may wait for its reply.
    ///   - onForgedSignal: called for each signal of a screen saver that another sender sent.
    package init(
        bus address: String,
        callTimeout: Duration = .seconds(10),
        onForgedSignal: @escaping @Sendable () -> Void = {}
    ) {
        self.address = address
        self.callTimeout = callTimeout
        self.onForgedSignal = onForgedSignal
        (locks, lockSink) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        (closings, closingSink) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
    }

    /// Connects, and again at growing intervals whenever the bus was lost, until the task is cancelled.
    package func run() async {
        var pause = ReconnectPause()
        var closing = closings.makeAsyncIterator()
        while !Task.isCancelled {
            if connect() {
                _ = await closing.next(isolation: self)
                if !present.isEmpty { pause = ReconnectPause() }
                present = []
            }
            guard await pause.wait() else { break }
        }
        connection?.close()
        lockSink.finish()
    }

    /// The screen saver whose signals are heard now; nil if there is none.
    ///
    /// Before the first replies it waits for them, for at most a second.
    package func heard() async -> ScreenSaver? {
        if !isReady {
            let limit = Task {
                guard (try? await Task.sleep(for: .seconds(1))) != nil else { return }
                self.resumeWaiting()
            }
            await withCheckedContinuation { waiting.append($0) }
            limit.cancel()
        }
        return ScreenSaver.allCases.first(where: present.contains)
    }

    private func noteReady() {
        isReady = true
        resumeWaiting()
    }

    private func resumeWaiting() {
        for continuation in waiting { continuation.resume() }
        waiting = []
    }

    private func connect() -> Bool {
        connection = try? ScreenSaverConnection(
            address,
            executor: executor,
            callTimeout: callTimeout,
            onEvent: { [weak self] event in self?.assumeIsolated { $0.handle(event) } }
        )
        if connection == nil { noteReady() }
        return connection != nil
    }

    private func handle(_ event: ScreenSaverConnection.Event) {
        switch event {
        case .active(let saver, let isActive, let isSignal):
            present.insert(saver)
            let before = states.updateValue(isActive, forKey: saver)
            // One that was active when it was first seen is no lock; a signal with the state of before is a second one, of
            // another path.
            if isActive, isSignal ? before != true : before == false { lockSink.yield() }
        case .left(let saver): present.remove(saver)
        case .forged: onForgedSignal()
        case .ready: noteReady()
        case .closed:
            connection = nil
            noteReady()
            closingSink.yield()
        }
    }
}
