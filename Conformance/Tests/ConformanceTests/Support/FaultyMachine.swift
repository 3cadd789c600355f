#if os(Linux)
    import Foundation
    import Security
    import Testing
    import TouchstoneTesting

    /// A machine with a fault, and its own keychain: a real daemon on real files.
    struct FaultyMachine {
        private let fault: MachineFault

        init(_ fault: MachineFault) { self.fault = fault }

        /// Runs `preparation` before the fault begins, and `body` during it.
        func run<R: Sendable>(
            _ preparation: @Sendable () -> Void,
            _ body: @escaping @Sendable () async throws -> R
        ) async throws -> R {
            switch fault {
            case .noService: return try await PrivateKeychain().use { try await body() }
            case .noPasscode:
                let keychain = try PrivateKeychain()
                try await keychain.start()
                return try await keychain.use { try await body() }
            case .serviceEnds:
                let keychain = try await Self.keychain(preparation)
                try keychain.tellPerson([.killsDaemon])
                return try await keychain.use { try await body() }
            case .scarceMemory, .limitedData, .noSensor:
                return try await Self.keychain(preparation).use { try await body() }
            case .fullDisk, .readOnlyFile, .failingDisk, .damagedItem:
                return try await withDisk(preparation, body)
            case .noFinger, .fallback, .stranger, .unreadableFinger, .unpluggedSensor:
                return try await withSensor(body)
            }
        }

        /// A keychain without a fingerprint reader.
        private static func keychain(_ preparation: @Sendable () -> Void) async throws -> PrivateKeychain {
            let keychain = try await PrivateKeychain.ready()
            keychain.use { preparation() }
            return keychain
        }
    }

    // MARK: The disk

    extension FaultyMachine {
        private func withDisk<R: Sendable>(
            _ preparation: @Sendable () -> Void,
            _ body: @escaping @Sendable () async throws -> R
        ) async throws -> R {
            let keychain = try PrivateKeychain()
            let data = keychain.layout.dataDirectory
            if fault == .fullDisk {
                try Self.demand("/usr/bin/unshare")
                try FileManager.default.createDirectory(
                    atPath: data,
                    withIntermediateDirectories: false,
                    attributes: [.posixPermissions: 0o700]
                )
                try await keychain.start(
                    through: Self.mounting("mount -t tmpfs -o size=512k,mode=700 small", data)
                )
            } else {
                try await keychain.start()
            }
            try keychain.client.setUp(keychain.prompt())
            keychain.use {
                preparation()
                // A deletion empties the write-ahead log, so that everything else is in the database file.
                let shelf = Shelf()
                #expect(shelf.add("gone") == errSecSuccess && shelf.delete() == errSecSuccess)
            }
            if fault == .fullDisk {
                try Self.fill("/proc/\(keychain.processID)/root\(data)/filler")
            } else {
                try keychain.client.lock()
                keychain.stop(with: SIGTERM)
                try await restart(keychain)
            }
            let result = try await keychain.use { try await body() }
            keychain.stop(with: SIGKILL)
            return result
        }

        private func restart(_ keychain: PrivateKeychain) async throws {
            let data = keychain.layout.dataDirectory
            switch fault {
            case .readOnlyFile:
                try Self.demand("/usr/bin/unshare")
                let items = "\(data)/items.sqlite"
                let locked = Self.mounting(
                    "mount --bind '\(items)' '\(items)'; mount -o remount,bind,ro",
                    items
                )
                try await keychain.start(through: locked)
            case .failingDisk:
                try Self.demand("/usr/bin/strace")
                let failing = [
                    "/usr/bin/strace", "-D", "-f", "-qq", "-o", "/dev/null", "-e", "signal=none",
                    "-P", "\(data)/items.sqlite-wal", "-e", "trace=pwrite64",
                    "-e", "inject=pwrite64:error=EIO",
                ]
                try await keychain.start(through: failing)
            default:
                let file = URL(fileURLWithPath: "\(data)/items.sqlite")
                var octets = try Data(contentsOf: file)
                octets[octets.count / 2] ^= 1
                let handle = try FileHandle(forWritingTo: file)
                try handle.write(contentsOf: octets)
                try handle.close()
                try await keychain.start()
            }
        }

        /// The command that runs the daemon in its own mount namespace.
        private static func mounting(_ command: String, _ path: String) -> [String] {
            let commands = "\(command) '\(path)'; exec \"$@\""
            return [
                "/usr/bin/unshare", "--mount", "--propagation", "private", "/bin/sh", "-ec", commands, "sh",
            ]
        }

        /// Fills the file system with a file.
        private static func fill(_ path: String) throws {
            guard FileManager.default.createFile(atPath: path, contents: nil) else {
                throw TestKitError.unexpected("\(path) cannot be made")
            }
            let handle = try FileHandle(forWritingTo: URL(fileURLWithPath: path))
            for octetCount in [4096, 1] {
                while (try? handle.write(contentsOf: Data(count: octetCount))) != nil {}
            }
        }

        /// Throws if bringing the fault about needs root, or a program that is not installed.
        private static func demand(_ program: String) throws {
            guard geteuid() == 0, FileManager.default.isExecutableFile(atPath: program) else {
                throw UnbreakableMachine(reason: "needs root and \(program)")
            }
        }
    }

    // MARK: The sensor

    extension FaultyMachine {
        private func withSensor<R: Sendable>(
            _ body: @escaping @Sendable () async throws -> R
        ) async throws -> R {
            guard FileManager.default.isExecutableFile(atPath: "/usr/libexec/fprintd") else {
                throw UnbreakableMachine(reason: "needs fprintd")
            }
            let bus = try await PrivateBus.start(sensors: [.image])
            if fault != .noFinger { try await Enroller(bus).enrol(SyntheticFinger(1)) }
            let keychain = try await PrivateKeychain.ready(
                bus: bus,
                settings: ["test.template-directory = \(bus.templateDirectory)"]
            )
            let reader = VirtualReader(bus)
            if ![.noFinger, .fallback].contains(fault) {
                try keychain.tellPerson(Array(repeating: .waits, count: 25))
            }
            let fault = fault
            let outcome = try await withThrowingTaskGroup(of: R?.self) { group in
                group.addTask { try await keychain.use { try await body() } }
                group.addTask {
                    switch fault {
                    case .stranger:
                        for _ in 1...5 { try await reader.touch(SyntheticFinger(6).impression(0)) }
                    case .unreadableFinger: while !Task.isCancelled { try? await reader.retry(.general) }
                    case .unpluggedSensor: try await reader.unplug()
                    default: break
                    }
                    return nil
                }
                while let ended = try await group.next() {
                    guard let outcome = ended else { continue }
                    group.cancelAll()
                    return outcome
                }
                throw TestKitError.unexpected("no outcome")
            }
            keychain.stop(with: SIGTERM)
            await bus.stop()
            return outcome
        }
    }
#endif
