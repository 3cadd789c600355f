import Glibc
import KeychainModel

/// Waiting for a connection: the daemon limits the number of connections per user.
extension Connection {
    /// How long a client tries to connect before it reports the daemon's refusal.
    static let placePatience: Duration = .seconds(3)
    private static let firstPause: Duration = .milliseconds(20)
    private static let longestPause: Duration = .milliseconds(500)

    /// Connects and sends the greeting; retries with growing pauses while the daemon has too many
    /// connections.
    ///
    /// - Throws: ``DaemonAbsence`` if no daemon is listening, ``KeychainError``.
    static func open(_ place: DaemonPlace) throws -> Connection {
        do {
            return try open(at: place)
        } catch let absence as DaemonAbsence {
            guard case .perUser(let layout) = place else { throw absence }
            // A daemon that was started without a runtime directory, as by cron before the user logged in.
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
                // Randomise half of the pause, so that clients refused together do not retry together.
                let wait: Duration = pause * Double.random(in: 0.5...1)
                guard ContinuousClock.now + wait < deadline else { throw error }
                sleep(wait)
                pause = min(pause * 2, longestPause)
            }
        }
    }

    private static func sleep(_ duration: Duration) {
        // A signal that interrupts the pause only makes the retry earlier.
        let (seconds, attoseconds) = duration.components
        var pause = timespec(tv_sec: Int(seconds), tv_nsec: Int(attoseconds / 1_000_000_000))
        _ = unsafe nanosleep(&pause, nil)
    }
}
