import Testing

/// Faults of a machine that cannot be brought about through Apple's API.
enum MachineFault: String, Sendable {
    // MARK: The keychain

    /// Nothing listens on the keychain's socket.
    case noService
    /// The keychain's daemon exits while it shows a prompt.
    case serviceEnds
    /// No passcode is set.
    case noPasscode
    /// A result has more secrets than locked memory can hold.
    case scarceMemory
    /// The data are longer than the keychain's limit.
    case limitedData

    // MARK: The disk

    /// The disk is full.
    case fullDisk
    /// The file of items is read-only.
    case readOnlyFile
    /// Every write to the disk fails.
    case failingDisk
    /// An item on the disk was altered.
    case damagedItem

    // MARK: The sensor

    /// There is no fingerprint reader.
    case noSensor
    /// There is a reader, but no finger is enrolled.
    case noFinger
    /// There is a reader with an enrolled finger, and the user presses the fallback button.
    case fallback
    /// A wrong finger touches the reader until biometry is locked out.
    case stranger
    /// The reader cannot read the finger.
    case unreadableFinger
    /// The reader is unplugged while it waits for a finger.
    case unpluggedSensor
}

/// The fault cannot be brought about here.
struct UnbreakableMachine: Error {
    let reason: String
}

extension TestKeychain {
    /// Runs `body`, and cancels the test if it needs a fault that cannot be brought about here.
    static func unlessUnbreakable(_ body: () async throws -> Void) async throws {
        do {
            try await body()
        } catch let machine as UnbreakableMachine {
            #if compiler(>=6.3)
                try Test.cancel("\(machine.reason)")
            #else
                print("not tested: \(machine.reason)")
            #endif
        }
    }

    /// Runs `body` on a machine with a fault; `preparation` runs before the fault begins.
    ///
    /// - Throws: ``UnbreakableMachine`` if the fault cannot be brought about here.
    static func with<R: Sendable>(
        _ fault: MachineFault,
        after preparation: @escaping @Sendable () -> Void = {},
        _ body: @escaping @Sendable () async throws -> R
    ) async throws -> R {
        #if os(Linux)
            if TestKeychain.person != nil {
                throw UnbreakableMachine(reason: "the keychain is not the tests' own")
            }
            return try await FaultyMachine(fault).run(preparation, body)
        #else
            throw UnbreakableMachine(reason: "nobody breaks this machine (\(fault))")
        #endif
    }
}
