import CBOR
import KeychainModel
import Testing

@Suite("Records of reads, as they are stored")
struct SecretReadTests {
    private static func read(
        _ name: String = "mail",
        program: String? = "/usr/bin/app",
        door: Caller.Door? = nil,
        startedBy: String = "bash",
        references: Int = 0
    ) throws -> SecretRead {
        var caller = Caller(
            uid: 1000,
            pid: 4711,
            processStart: 7,
            program: program,
            accessGroup: try #require(AccessGroup("/usr/bin/app")),
            door: door
        )
        caller.startedBy = startedBy
        return SecretRead(
            time: 1_700_000_000_000_000,
            method: .read,
            caller: caller,
            group: "/usr/bin/app",
            name: name,
            count: max(1, references),
            references: (0..<references).compactMap {
                PersistentReference(octets: [UInt8](repeating: UInt8($0), count: 16))
            },
            factors: [.passcode, .biometry]
        )
    }

    @Test("what was stored is read")
    func roundTrip() throws {
        let reads = [
            try Self.read(), try Self.read("", program: nil, startedBy: ""),
            try Self.read("\u{202E}\n\u{1F}", door: .secretService, references: 3),
        ]
        #expect(try SecretReads(SecretReads(reads).octets.span).reads == reads)
        #expect(try SecretReads(SecretReads.none.octets.span).reads.isEmpty)
    }

    @Test("a text that is too long is cut at a character, and of many references the first are kept")
    func long() throws {
        let long = try Self.read(
            String(repeating: "\u{1F511}", count: 200),
            program: "/" + String(repeating: "a", count: 4095),
            references: 20
        )
        #expect(long.name.utf8.count <= 512 && long.name.hasSuffix("\u{1F511}\u{2026}"))
        #expect(long.program?.utf8.count == 512)
        #expect(long.references.count == SecretRead.mostReferences && long.count == 20)
        let most = SecretReads(Array(repeating: long, count: SecretReads.most))
        #expect(most.octets.count < Frame.longest / 2)
    }

    @Test("another process, another secret, another factor is no repetition; another time is")
    func repeated() throws {
        let read = try Self.read()
        var later = read
        later.time += 1
        later.times = 9
        #expect(read.isRepeated(by: later))
        #expect(try !read.isRepeated(by: Self.read("post")))
        #expect(try !read.isRepeated(by: Self.read(startedBy: "node")))
    }

    @Test("each shorter form, a later version and anything after the end are refused")
    func malformed() throws {
        let octets = SecretReads([try Self.read(references: 1)]).octets
        for count in octets.indices {
            #expect(throws: KeychainError(.decode)) { _ = try SecretReads(Array(octets[..<count]).span) }
        }
        #expect(throws: KeychainError(.decode)) { _ = try SecretReads((octets + [0]).span) }
        var later = octets
        later[1] = 2
        #expect(throws: KeychainError(.decode)) { _ = try SecretReads(later.span) }
    }
}
