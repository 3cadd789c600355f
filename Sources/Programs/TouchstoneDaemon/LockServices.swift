import AuthenticationEngine
import Desk
import FingerprintDriver
import KeychainModel
import Logging
import ServiceLifecycle

/// Watches the user's sessions, and locks the keychain when the user left the last one, locked its screen or closed the
/// lid, and before the machine sleeps.
struct DepartureService: Service {
    let watch: SessionWatch
    /// Nil if none are watched.
    let screenSavers: ScreenSaverWatch?
    let triggers: LockTriggers
    let authenticator: AuthenticationEngine
    let logger: Logger

    func run() async throws {
        await cancelWhenGracefulShutdown {
            await withTaskGroup { group in
                group.addTask { await watch.run() }
                group.addTask { await hear() }
                if triggers.lid { group.addTask { await watch.watchLid() } }
                if let screenSavers {
                    group.addTask { await screenSavers.run() }
                    group.addTask { await hear(screenSavers) }
                }
            }
        }
        try? await gracefulShutdown()
    }

    private func hear() async {
        for await departure in watch.departures {
            switch departure {
            case .screenLocked, .sessionEnded:
                guard triggers.screen else { continue }
                await lock(departure)
            case .lidClosed: await lock(departure)
            case .suspend:
                await lock(departure)
                await watch.allowSleep()
            }
        }
    }

    private func hear(_ screenSavers: ScreenSaverWatch) async {
        for await _ in screenSavers.locks {
            guard await !watch.announcesLocks else { continue }
            await lock(.screenLocked)
        }
    }

    /// Logged once it is done; without a key in memory only prompts end.
    private func lock(_ departure: Departure) async {
        await authenticator.lock()
        logger.notice("locked", metadata: ["reason": "\(departure.rawValue)"])
    }
}

/// Locks the keychain when no request has used an unlocked key for a while.
struct IdleLockService: Service {
    /// Nil for never.
    let limit: Duration?
    let activity: KeyActivity
    let keybag: any KeybagKeeper
    let authenticator: AuthenticationEngine
    let logger: Logger

    func run() async throws {
        if let limit {
            await cancelWhenGracefulShutdown {
                while !Task.isCancelled {
                    let left = limit - activity.idleTime
                    if left <= .zero, await keybag.state() == .unlocked, activity.idleTime >= limit {
                        await authenticator.lock()
                        logger.notice("locked", metadata: ["reason": "idle"])
                    }
                    try? await Task.sleep(for: left <= .zero ? limit : left)
                }
            }
        }
        try? await gracefulShutdown()
    }
}
