import AuthenticationEngine
import KeychainModel
import KeychainServer
import ServiceLifecycle

/// Serves clients until the daemon ends; then their prompts are taken away first.
struct ServerService: Service {
    let server: KeychainServer

    func run() async throws {
        try? await gracefulShutdown()
        await server.stop()
    }
}

/// Hears of changed fingers and of sleep.
struct SensorService: Service {
    let authenticator: AuthenticationEngine

    func run() async throws {
        await cancelWhenGracefulShutdown { await authenticator.run() }
        // A sensor that has nothing to tell is no reason to end.
        try? await gracefulShutdown()
    }
}

/// Ends the daemon when nobody has needed it for a while and no key would be lost.
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

    /// Ending would ask for the passcode again.
    private func hasKeys() async -> Bool {
        switch await keybag.state() {
        case .unlocked, .lockedAfterFirstUnlock: true
        case .notSetUp, .locked, .damaged: false
        }
    }
}
