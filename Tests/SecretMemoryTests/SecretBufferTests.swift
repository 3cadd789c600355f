import SecretMemory
import Testing

extension SecretMemoryTests {
    @Suite("Secret buffer")
    struct SecretBufferTests {
        private struct FillFailed: Error {}

        @Test("bytes are kept in the order in which they were appended")
        func appends() {
            var buffer = SecretBuffer()
            for octet: UInt8 in 0..<100 { buffer.append(octet) }
            let more = [UInt8](100..<200)
            buffer.append(contentsOf: more.span)
            unsafe more.withUnsafeBytes { unsafe buffer.append(contentsOf: $0) }
            let count = buffer.count
            #expect(count == 300)
            let octets = buffer.finish().octets
            #expect(octets == [UInt8](0..<200) + more)
        }

        @Test("bytes can be inserted before all others", arguments: [0, 10, 16_380])
        func prepends(count: Int) {
            var buffer = SecretBuffer()
            for index in 0..<count { buffer.append(UInt8(truncatingIfNeeded: index)) }
            let start = [UInt8](200..<230)
            unsafe start.withUnsafeBytes { unsafe buffer.prepend(contentsOf: $0) }
            let octets = buffer.finish().octets
            #expect(octets == start + (0..<count).map { UInt8(truncatingIfNeeded: $0) })
        }

        @Test("growing leaves no copy in memory")
        func growthLeavesNoCopy() {
            var buffer = SecretBuffer(minimumCapacity: 64)
            var addresses: Set<UInt> = []
            for _ in 1...8192 {
                buffer.append(0x5A)
                addresses.insert(buffer.address)
            }
            addresses.remove(buffer.address)
            #expect(addresses.count == 7)
            for address in addresses {
                #expect(LockedPages.inspect(address: address, count: 64) == .init(repeating: 0, count: 64))
            }
        }

        @Test("growing beyond the arena keeps the bytes", arguments: [16_384, 16_385, 1_000_000])
        func growsLarge(count: Int) {
            var buffer = SecretBuffer()
            for index in 0..<count { buffer.append(UInt8(truncatingIfNeeded: index)) }
            let isIntact = buffer.withOctets { octets in
                octets.indices.allSatisfy { octets[$0] == UInt8(truncatingIfNeeded: $0) }
            }
            #expect(isIntact)
        }

        @Test("a closure can write in place, and only the count it returns is kept")
        func fillsInPlace() {
            var buffer = SecretBuffer()
            buffer.append(1)
            let written = unsafe buffer.append(upTo: 100) { room in
                unsafe room[0] = 2
                unsafe room[1] = 3
                return 2
            }
            #expect(written == 2)
            let octets = buffer.finish().octets
            #expect(octets == [1, 2, 3])
        }

        @Test("what a throwing closure wrote is wiped, and earlier bytes stay")
        func throwingFill() {
            var buffer = SecretBuffer()
            buffer.append(1)
            #expect(throws: FillFailed.self) {
                _ = try unsafe buffer.append(upTo: 16) { room in
                    for index in room.indices { unsafe room[index] = 0x5A }
                    throw FillFailed()
                }
            }
            let left = LockedPages.inspect(address: buffer.address, count: 17)
            #expect(left == [1] + .init(repeating: 0, count: 16))
            let octets = buffer.finish().octets
            #expect(octets == [1])
        }

        @Test("removing all bytes wipes them, with the block kept or not", arguments: [true, false])
        func removeAll(keepingCapacity: Bool) {
            var buffer = SecretBuffer()
            for _ in 1...100 { buffer.append(0x5A) }
            let address = buffer.address
            buffer.removeAll(keepingCapacity: keepingCapacity)
            #expect(LockedPages.inspect(address: address, count: 100) == .init(repeating: 0, count: 100))
            let count = buffer.count
            let capacity = buffer.capacity
            #expect(count == 0)
            #expect(capacity == (keepingCapacity ? 128 : 0))
            buffer.append(7)
            let octets = buffer.finish().octets
            #expect(octets == [7])
        }

        @Test("finishing hands over the block, which is wiped with the secret")
        func finishes() {
            var buffer = SecretBuffer()
            for _ in 1...50 { buffer.append(0x5A) }
            let address = buffer.address
            let secret = buffer.finish()
            let isSameBlock = secret.address == address
            #expect(isSameBlock)
            _ = consume secret
            #expect(LockedPages.inspect(address: address, count: 64) == .init(repeating: 0, count: 64))
        }

        @Test("an empty buffer makes an empty secret")
        func empty() {
            let secret = SecretBuffer().finish()
            let octets = secret.octets
            #expect(octets.isEmpty)
        }
    }
}

extension SecretBuffer {
    /// The address of the bytes.
    var address: UInt { unsafe withUnsafeBytes { UInt(bitPattern: $0.baseAddress) } }
}
