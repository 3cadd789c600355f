import AuthenticationEngine
import CLinux
import KeychainModel
import KeychainServer
import SSHAgentServer
import ServiceLifecycle

/// Serves clients until the daemon ends; their prompts are then removed first.
struct ServerService: Service {
    let server: KeychainServer
    let agent: SSHAgentServer

    func run() async throws {
        try? await gracefulShutdown()
        await server.stop()
        await agent.stop()
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
    let agent: SSHAgentServer
    let keybag: any KeybagKeeper
    let limit: Duration?

    func run() async throws {
        guard let limit else {
            try? await gracefulShutdown()
            return
        }
        await cancelWhenGracefulShutdown {
            while !Task.isCancelled {
                let left = limit - min(server.idleTime ?? .zero, agent.idleTime ?? .zero)
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

/// Gives back the memory of code that ran before and is not needed now.
///
/// Starting, setting up and unlocking run through most of the program's and its libraries' code: self-tests, key derivation,
/// initialisers, Swift's runtime. A pass unmaps all code and constants, 15 MB of 23 MB; look-ups then map 3 MB again, all
/// operations together 11 MB. The benchmark's daemon with 10,000 items has 19 MB instead of 23 MB.
struct CodeMemoryService: Service {
    /// Until the first requests, for which a daemon is started, were answered.
    private static let first: Duration = .seconds(1)
    /// Doubled after each pass up to this: seldom, as an idle processor wakes for it.
    private static let longest: Duration = .seconds(3600)

    func run() async throws {
        await cancelWhenGracefulShutdown {
            var pause = Self.first
            while !Task.isCancelled {
                do { try await Task.sleep(for: pause) } catch { return }
                clinux_code_release()
                pause = min(pause * 2, Self.longest)
            }
        }
        try? await gracefulShutdown()
    }
}
