internal import Dispatch
internal import KeychainModel
internal import Primitives
internal import SecretMemory

/// scrypt (RFC 7914) of a passcode, which makes guessing slow; runs on its own thread, whose stack is locked and wiped.
public enum PasscodeDerivation {
    /// The cost parameters of a derivation, stored beside its salt.
    public struct Cost: Sendable, Hashable {
        /// The base-2 logarithm of scrypt's N.
        public let roundsExponent: Int
        /// scrypt's r.
        public let blockSize: Int
        /// scrypt's p.
        public let parallelism: Int

        /// Accepts the values allowed in a keybag: N from 2 to 2^22, r up to 32, p up to 16, at most 1 GiB of memory.
        public init?(roundsExponent: Int, blockSize: Int, parallelism: Int) {
            guard (1...22).contains(roundsExponent), (1...32).contains(blockSize),
                (1...16).contains(parallelism),
                128 * blockSize << roundsExponent <= 1 << 30
            else { return nil }
            self.roundsExponent = roundsExponent
            self.blockSize = blockSize
            self.parallelism = parallelism
        }

        private init(exponent: Int, parallelism: Int) {
            self.roundsExponent = exponent
            self.blockSize = 8
            self.parallelism = parallelism
        }

        /// The minimum outside tests: N = 2^17, r = 8, p = 1, which takes 128 MiB.
        public static let floor = Cost(exponent: 17, parallelism: 1)
        /// For tests only: a keybag made with it reports the assurance `test`.
        public static let test = Cost(exponent: 10, parallelism: 1)
        /// For application passwords, which are checked while a caller waits: N = 2^15.
        static let applicationPassword = Cost(exponent: 15, parallelism: 1)

        /// Whether it costs an attacker less than ``floor``.
        var isBelowFloor: Bool {
            roundsExponent < Self.floor.roundsExponent || blockSize < Self.floor.blockSize
        }

        /// The same memory, with p = `times`, at most 16.
        func repeated(_ times: Int) -> Cost {
            Cost(exponent: roundsExponent, parallelism: min(16, max(1, times)))
        }
    }

    /// The minimum duration of an unlock, on the machine where the keybag was created.
    static let least = Duration.milliseconds(500)

    /// The cost at which one derivation takes at least ``least`` on this machine, with the memory of ``Cost/floor``.
    static func calibrated() async -> Cost {
        let salt = RandomBytes.array(count: 16)
        let clock = ContinuousClock()
        let start = clock.now
        _ = await derive(Key.random(), salt: salt, cost: .floor)
        let once = max(clock.now - start, .milliseconds(1))
        // 10% more, because the machine may be faster in another run.
        let times = (least * 1.1 / once).rounded(.up)
        return Cost.floor.repeated(Int(min(times, 16)))
    }

    /// One derivation at a time: there is one locked stack, and two derivations together would take the memory of both.
    ///
    /// Not on a thread of Swift's pool: a derivation takes half a second, and would block other tasks for as long.
    private static let queue = DispatchQueue(label: "touchstone.derivation", qos: .userInitiated)

    /// Derives 32 bytes from a passcode, which the caller passes as a ``Key``.
    static func derive(_ passcode: Key, salt: [UInt8], cost: Cost) async -> Key {
        await withCheckedContinuation { continuation in
            queue.async {
                do throws(SecretMemoryError) {
                    let derived = try LockedStack.run {
                        unsafe passcode.withUnsafeBytes {
                            unsafe stretch($0, salt: salt, cost: cost, count: 32)
                        }
                    }
                    continuation.resume(returning: derived)
                } catch {
                    // As for every secret: never ordinary memory instead of locked memory.
                    fatalError("touchstone: \(error)")
                }
            }
        }
    }

    /// scrypt itself, on the calling thread and its stack.
    static func stretch(
        _ passcode: UnsafeRawBufferPointer,
        salt: [UInt8],
        cost: Cost,
        count: Int
    ) -> Key {
        Key(
            unsafe SecretBytes(octetCount: count) { key in
                unsafe Scrypt.derive(
                    from: passcode,
                    salt: salt,
                    roundsExponent: cost.roundsExponent,
                    blockSize: cost.blockSize,
                    parallelism: cost.parallelism,
                    into: key
                )
            }
        )
    }
}
