import KeychainModel

/// Seats whose active sessions the test switches.
///
/// ```swift
/// let seats = ScriptedSeats()
/// seats.leave(3)
/// await seats.isAway(3)
/// ```
package final class ScriptedSeats: SeatSessions {
    private struct State: Sendable {
        var away: Set<UInt32?> = []
        var waits: UInt64 = 0
        var cancelled: Set<UInt64> = []
        var logins: [UInt32?] = []
    }

    private let state = Watched(State())

    /// Creates seats on which every session is active.
    package init() {}

    /// Another session becomes active in place of the login's; nil for requests of unknown logins.
    package func leave(_ login: UInt32?) { _ = state.update { $0.away.insert(login) } }

    /// The login's session is active again.
    package func comeBack(_ login: UInt32?) { _ = state.update { $0.away.remove(login) } }

    /// The logins that were asked about, in order.
    package var logins: [UInt32?] { state.update { $0.logins } }

    /// Whether another session is active in place of the login's.
    package func isAway(_ login: UInt32?) async -> Bool {
        state.update { state in
            state.logins.append(login)
            return state.away.contains(login)
        }
    }

    /// Waits until another session is active.
    package func waitUntilAway(_ login: UInt32?) async -> Bool {
        let number = state.update { state in
            state.waits += 1
            return state.waits
        }
        return await withTaskCancellationHandler {
            await state.wait { state -> Bool? in
                if state.cancelled.contains(number) { return false }
                return state.away.contains(login) ? true : nil
            }
        } onCancel: {
            _ = state.update { $0.cancelled.insert(number) }
        }
    }
}
