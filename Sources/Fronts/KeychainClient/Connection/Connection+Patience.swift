import Glibc
import KeychainModel

/// Waiting for a place: the daemon serves only so many connections of one user at a time.
extension Connection {
    /// How long a client tries to get a place before it tells the daemon's refusal.
    static let placePatience: Duration = .seconds(3)
    private static let firstPause: Duration = .milliseconds(20)
    private static let longestPause: Duration = .milliseconds(500)

    /// Connects and greets; tries again with growing pauses while the daemon has too many connections.
    ///
    /// - Throws: ``DaemonAbsence`` when there is no daemon, ``KeychainError``.
    static func open(_ place: DaemonPlace) throws -> Connection {
        do {
            return try open(at: place)
        } catch let absence as DaemonAbsence {
            guard case .perUser(let layout) = place else { throw absence }
            // A daemon that was started without a runtime directory, as under cron before the user logged in.
            let other = Layout(
                runtimeDirectory: layout.fallbackRuntimeDirectory,
                dataDirectory: layout.dataDirectory,
                configurationFile: layout.configurationFile
            )
            guard other != layout, let connection = try? open(at: .perUser(other)) else { throw absence }
            return connection
        }
    }

    private static func open(at place: DaemonPlace) throws -> Connection {
        let deadline = ContinuousClock.now + placePatience
        var pause = firstPause
        while true {
            do {
                return try Connection(DaemonSocket(place))
            } catch let error as KeychainError where error.cause == .tooManyConnections {
                // Half of it at random: clients that were refused together do not come back together.
                let wait: Duration = pause * Double.random(in: 0.5...1)
                guard ContinuousClock.now + wait < deadline else { throw error }
                sleep(wait)
                pause = min(pause * 2, longestPause)
            }
        }
    }

    private static func sleep(_ duration: Duration) {
        // Cut short by a signal it only tries earlier.
        let (seconds, attoseconds) = duration.components
        var pause = timespec(tv_sec: Int(seconds), tv_nsec: Int(attoseconds / 1_000_000_000))
        _ = unsafe nanosleep(&pause, nil)
    }
}
