import CLinux
import Glibc
import Threads

/// The signals that ask a program to end, passed on to a program that it runs.
package struct ForwardedSignals: Sendable {
    private let descriptor: CInt

    /// Holds SIGINT, SIGTERM and SIGHUP, for all threads started later.
    ///
    /// - Throws: ``TestKitError`` if they cannot be held.
    package init() throws(TestKitError) {
        let held = [SIGINT, SIGTERM, SIGHUP]
        descriptor = unsafe clinux_hold_signals(held, held.count)
        guard descriptor >= 0 else { throw .system("clinux_hold_signals", errno: errno) }
    }

    /// Sends what came so far, and what comes until this program ends, to a process group.
    package func forward(to group: Int32) {
        _ = BlockingThread.start { [descriptor] in
            while true {
                var watched = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
                guard unsafe poll(&watched, 1, -1) > 0 else { continue }
                var isFromTerminal = false
                let signal = unsafe clinux_next_signal(descriptor, &isFromTerminal)
                if signal > 0 { kill(-group, signal) }
            }
        }
    }
}
