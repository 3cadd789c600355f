#if arch(x86_64)
    import Glibc
    import SecretMemory
    import Testing

    /// The vector registers after a copy, as found in a signal frame.
    @Suite("Registers after a copy")
    struct SecretCopyTests {
        private static let counts = [16, 17, 24, 32, 33, 48, 64, 96, 128, 200, 1000]

        /// Whether the signal's handler is installed.
        ///
        /// It stays installed: the tests run concurrently, and a signal raised after another test removed the handler would end
        /// the process.
        private static let isHandled: Bool = {
            var action = sigaction()
            action.__sigaction_handler.sa_handler = { _ in }
            action.sa_flags = SA_ONSTACK
            return sigaction(SIGUSR2, &action, nil) == 0
        }()

        /// Runs `body`, and stores the registers that it leaves by raising a signal.
        ///
        /// - Returns: The signal frame on the handler's stack.
        private static func registers(after body: () -> Void) -> [UInt8] {
            let octetCount = 64 * 1024
            let memory = UnsafeMutableRawPointer.allocate(byteCount: octetCount, alignment: 64)
            defer { memory.deallocate() }
            memset(memory, 0, octetCount)
            var stack = stack_t(ss_sp: memory, ss_flags: 0, ss_size: octetCount)
            var formerStack = stack_t()
            var signals = sigset_t()
            sigemptyset(&signals)
            sigaddset(&signals, SIGUSR2)
            var formerSignals = sigset_t()
            let isReady =
                isHandled && sigaltstack(&stack, &formerStack) == 0
                && pthread_sigmask(SIG_UNBLOCK, &signals, &formerSignals) == 0
            #expect(isReady)
            body()
            raise(SIGUSR2)
            pthread_sigmask(SIG_SETMASK, &formerSignals, nil)
            sigaltstack(&formerStack, nil)
            return Array(UnsafeRawBufferPointer(start: memory, count: octetCount).drop { $0 == 0 })
        }

        /// Whether `octets` contains 16 consecutive bytes of `secret`, the size of the smallest vector register.
        private static func leaves(_ secret: [UInt8], in octets: [UInt8]) -> Bool {
            let pieces = stride(from: 0, through: secret.count - 16, by: 16).map { secret[$0..<($0 + 16)] }
            return (pieces + [secret.suffix(16)]).contains { octets.firstRange(of: $0) != nil }
        }

        @Test("an ordinary copy leaves its bytes in registers (control)")
        func control() {
            let left = Self.counts.filter { count in
                let secret = RandomBytes.array(count: count)
                var target = [UInt8](repeating: 0, count: count)
                let octets = target.withUnsafeMutableBytes { target in
                    secret.withUnsafeBytes { secret in
                        Self.registers { target.copyMemory(from: secret) }
                    }
                }
                return Self.leaves(secret, in: octets)
            }
            #expect(!left.isEmpty)
        }

        @Test("a copy of a secret leaves nothing in registers", arguments: counts)
        func secretBytes(_ count: Int) {
            let secret = RandomBytes.array(count: count)
            var held = SecretBytes.random(count: 0)
            #expect(!Self.leaves(secret, in: Self.registers { held = SecretBytes(copying: secret) }))
            var copy = SecretBytes.random(count: 0)
            #expect(!Self.leaves(secret, in: Self.registers { copy = held.copy() }))
            let areEqual = held.matches(copy)
            #expect(areEqual)
            #expect(held.count == count)
        }

        @Test(
            "a buffer that is filled, grows or is prepended to leaves nothing in registers",
            arguments: counts
        )
        func secretBuffer(_ count: Int) {
            let secret = RandomBytes.array(count: count)
            var buffer = SecretBuffer(minimumCapacity: count)
            #expect(!Self.leaves(secret, in: Self.registers { buffer.append(contentsOf: secret.span) }))
            #expect(!Self.leaves(secret, in: Self.registers { buffer.reserve(8 * count) }))
            let prepended = Self.registers {
                secret.withUnsafeBytes { buffer.prepend(contentsOf: $0) }
            }
            #expect(!Self.leaves(secret, in: prepended))
            let held = buffer.finish()
            let areEqual = held.withOctets { ConstantTime.areEqual($0, (secret + secret).span) }
            #expect(areEqual)
        }

        @Test("a comparison leaves nothing in registers", arguments: counts)
        func comparison(_ count: Int) {
            let secret = SecretBytes.random(count: count)
            let other = secret.copy()
            let octets = secret.withOctets { octets in octets.indices.map { octets[$0] } }
            var areEqual = false
            #expect(!Self.leaves(octets, in: Self.registers { areEqual = secret.matches(other) }))
            #expect(areEqual)
        }
    }
#endif
