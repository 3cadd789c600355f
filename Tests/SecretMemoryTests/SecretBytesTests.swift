import SecretMemory
import Testing

extension SecretMemoryTests {
    @Suite("Secret bytes")
    struct SecretBytesTests {
        private struct FillFailed: Error {}

        @Test("equal secrets match", arguments: [0, 1, 32, 33, 4096, 16_384, 16_385, 100_000])
        func equalSecretsMatch(count: Int) {
            let first = SecretBytes(repeating: 0x5A, count: count)
            let second = SecretBytes(repeating: 0x5A, count: count)
            let matched = first.matches(second)
            #expect(matched)
            let heldCount = first.count
            #expect(heldCount == count)
        }

        @Test("secrets that differ in one byte do not match, wherever it is", arguments: [0, 15, 31])
        func oneDifferingOctet(index: Int) {
            let first = SecretBytes(repeating: 0x5A, count: 32)
            let second = SecretBytes(count: 32) { octets in
                for index in octets.indices { octets[index] = 0x5A }
                octets[index] ^= 1
            }
            let matched = first.matches(second)
            #expect(!matched)
        }

        @Test("secrets of different length do not match")
        func differentLength() {
            let matched = SecretBytes(repeating: 0, count: 31).matches(SecretBytes(repeating: 0, count: 32))
            #expect(!matched)
        }

        @Test("a new secret is zero, whatever the block held before")
        func zerosFirst() {
            for _ in 1...3 {
                _ = SecretBytes(count: 64) { octets in
                    for index in octets.indices {
                        #expect(octets[index] == 0)
                        octets[index] = 0xFF
                    }
                }
            }
        }

        @Test("the bytes are wiped when the owner is released", arguments: [1, 32, 100, 4096, 16_384])
        func wipedAtTheEnd(count: Int) {
            let address = addressOfReleased(count: count)
            #expect(LockedPages.inspect(address: address, count: count) == .init(repeating: 0, count: count))
        }

        private func addressOfReleased(count: Int) -> UInt {
            let secret = SecretBytes(repeating: 0x5A, count: count)
            let address = secret.address
            // The control: the inspection finds the secret while it exists.
            let seen = LockedPages.inspect(address: address, count: count)
            #expect(seen == .init(repeating: 0x5A, count: count))
            return address
        }

        @Test("what a throwing closure wrote is wiped")
        func throwingFillIsWiped() {
            var address: UInt?
            #expect(throws: FillFailed.self) {
                _ = try SecretBytes(count: 48) { octets in
                    for index in octets.indices { octets[index] = 0x5A }
                    unsafe octets.withUnsafeBytes { address = UInt(bitPattern: $0.baseAddress) }
                    throw FillFailed()
                }
            }
            let left = address.flatMap { LockedPages.inspect(address: $0, count: 48) }
            #expect(left == .init(repeating: 0, count: 48))
        }

        @Test("a copy is a second secret; each is wiped with its own owner")
        func copies() {
            let first = SecretBytes(repeating: 0x5A, count: 32)
            let address = { (copy: consuming SecretBytes) in copy.address }(first.copy())
            #expect(LockedPages.inspect(address: address, count: 32) == .init(repeating: 0, count: 32))
            let octets = first.octets
            #expect(octets == .init(repeating: 0x5A, count: 32))
        }

        @Test("a consumed array is empty afterwards, and the secret has its bytes")
        func consumesArray() {
            var array: [UInt8] = [1, 2, 3]
            let secret = SecretBytes(consumingAndWiping: &array)
            let octets = secret.octets
            #expect(octets == [1, 2, 3])
            #expect(array.isEmpty)
        }

        @Test("wiping an array keeps its count and clears its bytes")
        func wipesArray() {
            var array: [UInt8] = [1, 2, 3]
            wipe(&array)
            #expect(array == [0, 0, 0])
        }

        @Test("two random secrets differ")
        func random() {
            let matched = SecretBytes.random(count: 32).matches(SecretBytes.random(count: 32))
            #expect(!matched)
            #expect(RandomBytes.array(count: 32) != RandomBytes.array(count: 32))
            #expect(RandomBytes.array(count: 0).isEmpty)
        }

        @Test("comparison covers bytes and lengths")
        func constantTime() {
            #expect(ConstantTime.areEqual([], []))
            #expect(ConstantTime.areEqual([1, 2], [1, 2]))
            #expect(!ConstantTime.areEqual([1, 2], [1, 3]))
            #expect(!ConstantTime.areEqual([1, 2], [1, 2, 0]))
        }
    }
}

extension SecretBytes {
    /// `count` copies of `octet`.
    init(repeating octet: UInt8, count: Int) {
        self.init(count: count) { octets in
            for index in octets.indices { octets[index] = octet }
        }
    }

    /// The address of the bytes.
    var address: UInt { unsafe withUnsafeBytes { UInt(bitPattern: $0.baseAddress) } }

    /// A copy of the bytes, for comparison in a test.
    var octets: [UInt8] { unsafe withUnsafeBytes { unsafe [UInt8]($0) } }
}
