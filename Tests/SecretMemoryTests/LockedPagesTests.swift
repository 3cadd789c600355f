import Glibc
import SecretMemory
import Testing

extension SecretMemoryTests {
    @Suite("Locked pages")
    struct LockedPagesTests {
        @Test("memory for secrets can be prepared more than once")
        func prepares() throws {
            try LockedPages.prepare()
            try LockedPages.prepare()
        }

        @Test(
            "small and large blocks are locked, excluded from core dumps and wiped on fork",
            arguments: [32, 100_000]
        )
        func pageFlags(count: Int) {
            let secret = SecretBytes(repeating: 0x5A, count: count)
            let flags = virtualMemoryFlags(at: secret.address)
            #expect(flags.isSuperset(of: ["lo", "dd", "wf"]), "\(flags)")
        }

        @Test("a forked child sees zeros")
        func childSeesZeros() {
            let secret = SecretBytes(repeating: 0x5A, count: 32)
            let seen = unsafe secret.withUnsafeBytes { unsafe lastOctetInChild($0) }
            #expect(seen == 0)
            let octets = secret.octets
            #expect(octets == .init(repeating: 0x5A, count: 32))
        }

        @Test("a freed block is used again")
        func reuses() {
            let addresses = (1...1000).map { _ in SecretBytes(repeating: 1, count: 500).address }
            #expect(Set(addresses).count == 1)
        }

        @Test("blocks in use at the same time do not overlap, whatever their sizes")
        func doNotOverlap() {
            let sizes = [1, 32, 33, 64, 200, 1000, 5000, 16_384, 20_000]
            var held: [Held] = []
            for round in 0..<40 {
                held += sizes.map { Held(octet: UInt8(held.count % 251), count: $0 + round % 3) }
                if round % 4 == 3 { held.removeFirst(9) }
            }
            #expect(held.allSatisfy { $0.isIntact })
        }

        @Test("with a full arena secrets get locked pages of their own, and the arena recovers")
        func arenaExhaustion() {
            var held: [Held] = []
            for index in 0..<(LockedPages.arenaByteCount / 16_384 + 36) {
                held.append(Held(octet: UInt8(index % 251), count: 16_384))
            }
            #expect(held.allSatisfy { $0.isIntact })
            let inArena = held.count { $0.isInArena }
            #expect(inArena <= LockedPages.arenaByteCount / 16_384)
            if let last = held.last {
                let flags = virtualMemoryFlags(at: last.secret.address)
                #expect(flags.isSuperset(of: ["lo", "dd", "wf"]))
            }
            held = []
            let again = SecretBytes(repeating: 1, count: 16_384)
            #expect(LockedPages.inspect(address: again.address, count: 1) == [1])
        }

        @Test("the region of a large secret is reused without its contents")
        func spareRegion() {
            let addresses = (0..<20).map { round -> UInt in
                let secret = SecretBytes(count: 100_000) { octets in
                    let isClean = octets.indices.allSatisfy { octets[$0] == 0 }
                    #expect(isClean)
                    for index in octets.indices { octets[index] = UInt8(round + 1) }
                }
                return secret.address
            }
            #expect(Set(addresses).count < addresses.count)
        }

        @Test("an arena split into the smallest blocks merges into one again")
        func fragmentation() {
            // Every second block is freed first, so that halves are freed separately.
            var held = (0..<(LockedPages.arenaByteCount / 32 + 8000)).map {
                Held(octet: UInt8($0 % 251), count: 1 + $0 % 32)
            }
            held = held.indices.filter { $0.isMultiple(of: 2) }.map { held[$0] }
            #expect(held.allSatisfy { $0.isIntact })
            held = []
            held = (0..<(LockedPages.arenaByteCount / 16_384)).map {
                Held(octet: UInt8($0 % 251), count: 16_384)
            }
            let inArena = held.count { $0.isInArena }
            #expect(inArena == LockedPages.arenaByteCount / 16_384)
        }

        @Test("many tasks can allocate concurrently")
        func concurrent() async {
            await withTaskGroup(of: Bool.self) { group in
                for task in 0..<8 {
                    group.addTask {
                        (0..<2000).allSatisfy { index in
                            Held(octet: UInt8(index % 251), count: 1 + (task + index) % 700).isIntact
                        }
                    }
                }
                for await isIntact in group { #expect(isIntact) }
            }
        }
    }
}

/// A secret with known contents, in a class so that an array can hold it.
private final class Held {
    let octet: UInt8
    let secret: SecretBytes

    init(octet: UInt8, count: Int) {
        self.octet = octet
        secret = SecretBytes(repeating: octet, count: count)
    }

    var isInArena: Bool { LockedPages.inspect(address: secret.address, count: 1) != nil }

    var isIntact: Bool { secret.withOctets { octets in octets.indices.allSatisfy { octets[$0] == octet } } }
}

/// `VmFlags` of the mapping that contains `address`, from `/proc/self/smaps`.
private func virtualMemoryFlags(at address: UInt) -> Set<String> {
    var isHere = false
    for line in lines(of: "/proc/self/smaps") {
        let words = line.split(separator: " ")
        if let range = words.first?.split(separator: "-"), range.count == 2,
            let lower = UInt(range[0], radix: 16), let upper = UInt(range[1], radix: 16)
        {
            isHere = (lower..<upper).contains(address)
        } else if isHere, words.first == "VmFlags:" {
            return Set(words.dropFirst().map(String.init))
        }
    }
    return []
}

private func lines(of path: String) -> [Substring] {
    let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { return [] }
    defer { close(descriptor) }
    var text: [UInt8] = []
    var chunk = [UInt8](repeating: 0, count: 65_536)
    while true {
        let count = unsafe read(descriptor, &chunk, chunk.count)
        guard count > 0 else { break }
        text += chunk[..<count]
    }
    return String(decoding: text, as: UTF8.self).split(separator: "\n")
}

/// The highest byte that a child made by fork(2) finds there, as its exit status; nil if fork failed.
private func lastOctetInChild(_ octets: UnsafeRawBufferPointer) -> CInt? {
    typealias Fork = @convention(c) () -> pid_t
    // Swift hides fork(2), since the child may do little; this one compares and exits.
    guard let symbol = unsafe dlsym(nil, "fork") else { return nil }
    let fork = unsafe unsafeBitCast(symbol, to: Fork.self)
    let child = fork()
    if child == 0 {
        var highest: UInt8 = 0
        for index in octets.indices { highest = unsafe max(highest, octets[index]) }
        _exit(CInt(highest))
    }
    var status: CInt = 0
    guard child > 0, unsafe waitpid(child, &status, 0) == child, status & 0x7F == 0 else { return nil }
    return status >> 8 & 0xFF
}
