import Foundation
import Glibc
import KeychainClient
import KeychainModel
import SecretMemory

/// Each fault, caused on the real part.
extension KeychainParts {
    func cause(_ fault: TestFault.Kind) async throws {
        switch fault {
        case .unplug: try await unplug()
        case .replug:
            guard sensor != nil else { throw TestKitError.unexpected("there is no reader to plug in") }
            try await bus.killFprintd()
            try await bus.startFprintd()
        case .daemonCrash: try await restart(with: SIGKILL)
        case .chipLockout:
            guard let chip else { throw Self.noChip }
            try await restart { try await chip.lockOut() }
        case .chipSwap:
            guard let chip else { throw Self.noChip }
            try await restart {
                let other = try await SoftwareTPM.start()
                try await chip.restoreState(try await other.copyState())
            }
        case .diskFull: try await fillDisk()
        case .damage: try await damage()
        case .lock: try await apart { [keychain] in try keychain.client.lock() }
        case .suspend:
            // Without their delays, which both take soon after their start, nothing would tell that they handled the signal.
            let holders = [ScriptedLogind.touchstone] + (sensor == nil ? [] : [ScriptedLogind.fprintd])
            try await logind.waitUntilDelayed(by: holders)
            try await logind.prepareForSleep(true)
            try await logind.waitUntilNotDelayed()
            try await logind.prepareForSleep(false)
            // They delay the next sleep once they know of the wake-up.
            try await logind.waitUntilDelayed(by: holders)
        case .removePasscode:
            try await restart {
                try FileManager.default.removeItem(atPath: self.keychain.layout.dataDirectory)
            }
        case .deny: bus.deny()
        }
    }

    private static let noChip = TestKitError.unexpected("there is no chip: give `chip:` to the keychain")

    private func unplug() async throws {
        guard let sensor else { throw TestKitError.unexpected("there is no reader to unplug") }
        let enroller = Enroller(bus, sensor: sensor)
        if person.isWaitedFor {
            try await VirtualReader(bus, sensor: sensor).unplug()
            try await enroller.waitUntilGone()
        } else {
            try await enroller.unplug()
        }
    }

    /// Stops the daemon, runs `body`, and starts the daemon again.
    private func restart(with signal: Int32 = SIGTERM, _ body: () async throws -> Void = {}) async throws {
        keychain.stop(with: signal)
        do {
            try await body()
        } catch {
            try await keychain.start()
            throw error
        }
        try await keychain.start()
    }

    private func damage() async throws {
        // At an orderly end, the daemon removes deleted items from the log and writes the rest to the file.
        try await apart { [keychain] in try keychain.client.lock() }
        try await restart {
            let items = self.keychain.layout.dataDirectory + "/items.sqlite"
            var octets = try Data(contentsOf: URL(fileURLWithPath: items))
            // The file's header stays intact: the items are damaged, not the file as such.
            for place in stride(from: octets.count / 2, to: octets.count, by: 97) { octets[place] ^= 0x55 }
            let handle = try FileHandle(forWritingTo: URL(fileURLWithPath: items))
            try handle.write(contentsOf: octets)
            try handle.close()
        }
    }

    /// Moves the keychain to a small file system of its own, and fills that.
    ///
    /// Not in a mount namespace of the daemon: it would see other paths of the programs that call it.
    private func fillDisk() async throws {
        let data = keychain.layout.dataDirectory, copy = keychain.home.appending("copy")
        try await restart {
            try FileManager.default.copyItem(atPath: data, toPath: copy)
            guard unsafe mount("touchstone", data, "tmpfs", 0, "size=4m,mode=700") == 0 else {
                throw TestKitError.unexpected("the fault diskFull mounts a small tmpfs: it needs root")
            }
            mounted.withLock { $0 = true }
            for name in try FileManager.default.contentsOfDirectory(atPath: copy) {
                try FileManager.default.copyItem(atPath: "\(copy)/\(name)", toPath: "\(data)/\(name)")
            }
        }
        try await person.aside { try await apart { [keychain] in try keychain.unlock() } }
        let file = unsafe open("\(data)/filler", O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
        guard file >= 0 else { throw TestKitError.system("open", errno: errno) }
        defer { close(file) }
        let octets = [UInt8](repeating: 0, count: 4096)
        for size in [4096, 1] { while unsafe write(file, octets, size) > 0 {} }
    }
}
