import Testing

/// What can be wrong with a machine, or missing on it: nothing of it comes about by Apple's API.
enum MachineFault: String, Sendable {
    // MARK: The keychain

    /// Nothing answers where the keychain should be.
    case noService
    /// The keychain's service ends while its person is asked.
    case serviceEnds
    /// There is no passcode.
    case noPasscode
    /// A result holds more secrets than there is locked memory for.
    case scarceMemory
    /// Data are longer than the keychain takes.
    case limitedData

    // MARK: The disk

    /// The disk is full.
    case fullDisk
    /// The file of the items cannot be written.
    case readOnlyFile
    /// The disk fails at each write.
    case failingDisk
    /// An item on the disk is not what was written.
    case damagedItem

    // MARK: The sensor

    /// There is no sensor.
    case noSensor
    /// There is a sensor, and no finger is enrolled.
    case noFinger
    /// There is a sensor with an enrolled finger, and the person presses the fallback button.
    case fallback
    /// A stranger touches the sensor until it is locked out.
    case stranger
    /// The sensor cannot read what touches it.
    case unreadableFinger
    /// The sensor is pulled out while it waits for a finger.
    case unpluggedSensor
}

/// Nobody can bring a fault about here.
struct UnbreakableMachine: Error {
    let reason: String
}

extension TestKeychain {
    /// Runs `body`, and cancels the test when it needs a fault that nobody can bring about.
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

    /// Runs `body` on a machine with a fault; `preparation` runs before the fault is there.
    ///
    /// - Throws: ``UnbreakableMachine`` where nobody can bring the fault about.
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
