import AuthenticationEngine
import KeychainModel
import KeychainServer
import ServiceLifecycle

/// Serves clients until the daemon ends; their prompts are then removed first.
struct ServerService: Service {
    let server: KeychainServer

    func run() async throws {
        try? await gracefulShutdown()
        await server.stop()
    }
}

/// Receives changes of enrolled fingers, and sleep.
struct SensorService: Service {
    let authenticator: AuthenticationEngine

    func run() async throws {
        await cancelWhenGracefulShutdown { await authenticator.run() }
        // The daemon keeps running when the sensor reports no changes.
        try? await gracefulShutdown()
    }
}

/// Ends the daemon when it was idle for a while and holds no keys.
struct IdleService: Service {
    let server: KeychainServer
    let keybag: any KeybagKeeper
    let limit: Duration?

    func run() async throws {
        guard let limit else {
            try? await gracefulShutdown()
            return
        }
        await cancelWhenGracefulShutdown {
            while !Task.isCancelled {
                let left = limit - (server.idleTime ?? .zero)
                if left <= .zero, await !hasKeys() { return }
                try? await Task.sleep(for: left <= .zero ? limit : left)
            }
        }
    }

    /// Whether the daemon holds keys: without them the passcode would be needed again.
    private func hasKeys() async -> Bool {
        switch await keybag.state() {
        case .unlocked, .lockedAfterFirstUnlock: true
        case .notSetUp, .locked, .damaged: false
        }
    }
}
