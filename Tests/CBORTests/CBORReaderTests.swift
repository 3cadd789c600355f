import CBOR
import Testing
import TouchstoneTesting

@Suite("CBOR reader")
struct CBORReaderTests {
    // {1: [true, null, -2, 1.5], "a": h'0102', "bb": {"x": "é"}}
    private static let message = [UInt8](
        hex: "a301" + "84f5f621f93e00" + "6161" + "420102" + "626262" + "a1617862c3a9"
    )

    private struct NotOurs: Error {}

    private func decode(_ hex: String, limits: CBORLimits = .init()) throws(CBORError) -> CBORValue {
        try CBORValue(decoding: .init(hex: hex), limits: limits)
    }

    @Test("each type is read with the value written")
    func readsEveryType() throws {
        let text = try CBORReader.read(Self.message) { reader in
            #expect(try reader.readMapHead() == 3)
            #expect(try reader.readUnsigned() == 1)
            #expect(try reader.readArrayHead() == 4)
            #expect(try reader.readBool())
            #expect(try reader.readNullIfPresent())
            #expect(try reader.readInteger() == -2)
            #expect(try reader.readDouble() == 1.5)
            #expect(try reader.readText() == "a")
            #expect(try reader.readBytes { octets in octets.count } == 2)
            #expect(try reader.readText() == "bb")
            #expect(try reader.readMapHead() == 1)
            #expect(try reader.readText() == "x")
            return try reader.readText()
        }
        #expect(text == "é")
    }

    @Test("a truncated message is refused, wherever it is cut")
    func truncation() throws {
        for length in 0..<Self.message.count {
            let cut = [UInt8](Self.message[..<length])
            #expect(throws: CBORError(.unexpectedEnd, at: 0), "cut at \(length)") {
                try CBORValue(decoding: cut)
            }
            #expect(throws: CBORError(.unexpectedEnd, at: 0), "cut at \(length)") {
                try CBORReader.read(cut) { reader in try reader.skipValue() }
            }
        }
    }

    @Test("a wrong type is reported with the actual one, and nothing is consumed")
    func typeMismatch() throws {
        let read = try CBORReader.read([0x18, 0x20]) { reader in
            #expect(throws: CBORError(.typeMismatch, at: 0)) { try reader.readText() }
            #expect(throws: CBORError(.typeMismatch, at: 0)) { try reader.readBool() }
            #expect(try !reader.readNullIfPresent())
            return try reader.readUnsigned()
        }
        #expect(read == 32)
    }

    @Test("an integer beyond 64 signed bits is an overflow")
    func integerOverflow() throws {
        let least = try CBORReader.read([UInt8](hex: "3b7fffffffffffffff")) { try $0.readInteger() }
        #expect(least == Int64.min)
        for hex in ["1b8000000000000000", "3b8000000000000000"] {
            #expect(throws: CBORError(.integerOverflow, at: 0)) {
                try CBORReader.read([UInt8](hex: hex)) { try $0.readInteger() }
            }
        }
    }

    @Test("a head, length or float in a longer than the shortest form is refused")
    func shortestForm() {
        let longer = [
            "1817", "1900ff", "1a0000ffff", "1b00000000ffffffff", "3800", "5800", "7800", "9800", "b800",
            "fa3fc00000", "fb3ff8000000000000", "fb7ff8000000000000", "fa7fc00000", "f97e01", "f9fe00",
        ]
        for hex in longer {
            #expect(throws: CBORError(.notShortestForm, at: 0), "\(hex)") { try decode(hex) }
        }
    }

    @Test("map keys of any type must be sorted by their encoding and unique, at every depth")
    func mapKeys() throws {
        _ = try decode("a40a001864002000617a00")
        #expect(throws: CBORError(.keysOutOfOrder, at: 0)) { try decode("a220000a00") }
        #expect(throws: CBORError(.keysOutOfOrder, at: 0)) { try decode("a262616100617a00") }
        #expect(throws: CBORError(.duplicateKey, at: 0)) { try decode("a201000100") }
        #expect(throws: CBORError(.duplicateKey, at: 0)) { try decode("81a1" + "00" + "a201000100") }
        // Arrays and maps as keys.
        _ = try decode("a2810100810200")
        #expect(throws: CBORError(.duplicateKey, at: 0)) { try decode("a2810100810100") }
        #expect(throws: CBORError(.duplicateKey, at: 0)) { try decode("a2a000a000") }
        #expect(throws: CBORError(.keysOutOfOrder, at: 0)) { try decode("a2820203008102" + "00") }
    }

    @Test("with keys in any order, a map is accepted however its keys are sorted, and its duplicates are not")
    func anyOrder() throws {
        let accepted = [
            "a0", "a220000a00", "a262616100617a00", "a301000300" + "0200", "a2820203008102" + "00",
            // Maps with the same keys: beside one another, within one another, as values and as keys.
            "82a201000200a202000100", "a202a2020001" + "00" + "01a201000200", "a2a20200010000a10100" + "00",
            // A map after a deeper one, and a key after a value that is a map with that key.
            "82a102a10200a102" + "00", "a202a1010001" + "00",
        ]
        for hex in accepted {
            let value = try decode(hex, limits: .ctap2InAnyOrder)
            try CBORReader.read([UInt8](hex: hex), limits: .ctap2InAnyOrder) { try $0.skipValue() }
            // What is written is canonical, and of the same length.
            let written = value.encoded()
            #expect(written.count == hex.count / 2)
            #expect(try CBORValue(decoding: written, limits: .ctap2).encoded() == written)
        }
        let refused: [(String, CBORError.Code)] = [
            ("a201000100", .duplicateKey), ("a3020001000200", .duplicateKey),
            // Within a value, within a key, and after a map that has the key too.
            ("a102a2010001" + "00", .duplicateKey), ("a1a20100010000", .duplicateKey),
            ("a202a101000200", .duplicateKey), ("82a10100a201000100", .duplicateKey),
            // Keys that are arrays and maps.
            ("a2810100810100", .duplicateKey), ("a2a10200" + "00a10200" + "00", .duplicateKey),
            ("a2a20200010000a20100020000", .duplicateKey),
            // Everything else is refused as in the canonical form.
            ("a2180200" + "0100", .notShortestForm), ("bf020001" + "00ff", .indefiniteLength),
            ("a17f6161ff00", .indefiniteLength), ("a102f93c00", .floatNotAllowed),
            ("a102c100", .tagNotAllowed), ("a1" + "02818181" + "8100", .tooDeep),
            ("a2020001", .unexpectedEnd),
            ("a10200" + "00", .trailingOctets),
        ]
        for (hex, code) in refused {
            #expect(throws: CBORError(code, at: 0), "\(hex)") { try decode(hex, limits: .ctap2InAnyOrder) }
            #expect(throws: CBORError(code, at: 0), "\(hex), skipped") {
                try CBORReader.read([UInt8](hex: hex), limits: .ctap2InAnyOrder) { try $0.skipValue() }
            }
        }
        // The canonical form stays strict.
        #expect(throws: CBORError(.keysOutOfOrder, at: 0)) { try decode("a220000a00", limits: .ctap2) }
    }

    @Test("duplicate keys are also refused while skipping")
    func duplicateKeysWhileSkipping() {
        #expect(throws: CBORError(.duplicateKey, at: 0)) {
            try CBORReader.read([UInt8](hex: "82a20100010000")) { reader in try reader.skipValue() }
        }
    }

    @Test("text must be valid UTF-8, read or skipped")
    func invalidUTF8() {
        for hex in ["61ff", "62c080", "63eda080", "64f4908080"] {
            let octets = [UInt8](hex: hex)
            #expect(throws: CBORError(.invalidUTF8, at: 0)) {
                try CBORReader.read(octets) { reader in try reader.readText() }
            }
            #expect(throws: CBORError(.invalidUTF8, at: 0)) {
                try CBORReader.read(octets) { reader in try reader.skipValue() }
            }
            #expect(throws: CBORError(.invalidUTF8, at: 0)) { try decode(hex, limits: .wellFormed) }
        }
    }

    @Test("tags, floats and other simple values are read only if allowed")
    func allowances() throws {
        #expect(throws: CBORError(.tagNotAllowed, at: 0)) { try decode("c100") }
        #expect(throws: CBORError(.simpleValueNotAllowed, at: 0)) { try decode("f7") }
        #expect(throws: CBORError(.simpleValueNotAllowed, at: 0)) { try decode("f820") }
        #expect(throws: CBORError(.floatNotAllowed, at: 0)) { try decode("f93c00", limits: .ctap2) }
        #expect(try decode("c100", limits: .init(allowsTags: true)) == .tag(1, .unsigned(0)))
    }

    @Test("trailing bytes are an error unless allowed")
    func trailingOctets() throws {
        #expect(throws: CBORError(.trailingOctets, at: 1)) { try decode("0000") }
        let end = try CBORReader.read([0, 1], limits: .init(allowsTrailingOctets: true)) { reader in
            try reader.skipValue()
            return reader.offset
        }
        #expect(end == 1)
    }

    @Test("an unfinished array is an error, even if trailing bytes are allowed")
    func unfinishedItem() {
        #expect(throws: CBORError(.unfinishedItem, at: 0)) {
            try CBORReader.read([0x81, 0x80], limits: .init(allowsTrailingOctets: true)) { reader in
                try reader.readArrayHead()
            }
        }
    }

    @Test("an error thrown by the caller's closure is rethrown")
    func bodyThrows() {
        #expect(throws: NotOurs.self) {
            try CBORReader.read([0x41, 0x00]) { reader in
                try reader.readBytes { octets in
                    if octets.count == 1 { throw NotOurs() }
                }
            }
        }
    }

    @Test("the beginning of a message can be read alone")
    func beginning() throws {
        let message: [UInt8] = [0x82, 0x01, 0xFF, 0xFF]
        let first = try CBORReader.readBeginning(of: message.span) { reader in
            _ = try reader.readArrayHead()
            return try reader.readUnsigned()
        }
        #expect(first == 1)
        #expect(throws: CBORError(.unexpectedBreak, at: 2)) {
            try CBORReader.read(message) { try $0.skipValue() }
        }
    }

    @Test("skipped strings are validated, and their ranges returned")
    func skippedStrings() throws {
        let message: [UInt8] = [0x83, 0x42, 1, 2, 0x62, 0xC3, 0xA9, 0x61, 0x61]
        try CBORReader.read(message) { reader in
            _ = try reader.readArrayHead()
            let bytes = try reader.skipBytes()
            #expect(bytes == 2..<4)
            let accented = try reader.skipText()
            #expect(accented == 5..<7)
            let isAccentedASCII = reader.isASCII(accented)
            #expect(!isAccentedASCII)
            let plain = try reader.skipText()
            #expect(plain == 8..<9)
            let isPlainASCII = reader.isASCII(plain)
            #expect(isPlainASCII)
        }
        #expect(throws: CBORError(.invalidUTF8, at: 0)) {
            try CBORReader.read([0x61, 0xFF] as [UInt8]) { _ = try $0.skipText() }
        }
        #expect(throws: CBORError(.typeMismatch, at: 0)) {
            try CBORReader.read([0x61, 0x61] as [UInt8]) { _ = try $0.skipBytes() }
        }
    }

    @Test("depth is limited to the reader's limit", arguments: [1, 4, 16])
    func depth(limit: Int) throws {
        let allowed = [UInt8](repeating: 0x81, count: limit - 1) + [0x80]
        _ = try CBORValue(decoding: allowed, limits: .init(depth: limit))
        #expect(throws: CBORError(.tooDeep, at: 0)) {
            try CBORValue(decoding: [0x81] + allowed, limits: .init(depth: limit))
        }
    }

    @Test("a hundred thousand levels are refused, and the limit cannot be raised that far")
    func depthBomb() {
        for initial: UInt8 in [0x81, 0xA1, 0xC1, 0x9F, 0xBF] {
            let bomb = [UInt8](repeating: initial, count: 100_000)
            for limits in [CBORLimits(depth: .max, allowsTags: true), .wellFormed] {
                #expect(throws: CBORError.self) { try CBORValue(decoding: bomb, limits: limits) }
                #expect(throws: CBORError.self) {
                    try CBORReader.read(bomb, limits: limits) { reader in try reader.skipValue() }
                }
            }
        }
    }

    @Test("a count beyond the message's length is refused before memory is reserved")
    func countBombs() {
        let bombs = [
            "9a ffffffff", "ba ffffffff", "9b 0000000100000000", "bb 0000000100000000", "5b 8000000000000000",
            "7b 8000000000000000", "9b 8000000000000000", "bb 8000000000000000", "9b ffffffffffffffff",
            "bb ffffffffffffffff", "5b 7fffffffffffffff", "7b ffffffffffffffff",
        ]
        for hex in bombs {
            let octets = [UInt8](hex: hex)
            for limits in [CBORLimits(), .wellFormed] {
                #expect(throws: CBORError(.unexpectedEnd, at: 0), "\(hex)") {
                    try CBORValue(decoding: octets, limits: limits)
                }
            }
        }
    }

    @Test("nested counts, each as large as the rest of the message, reserve almost no memory")
    func nestedCounts() {
        // Each of 16 arrays claims a million items; reserving for all would take hundreds of megabytes.
        let octets = (0..<16).flatMap { _ in [0x9A, 0x00, 0x0F, 0x00, 0x00] as [UInt8] }
        let bomb = octets + [UInt8](repeating: 0, count: (1 << 20) - octets.count)
        let before = residentPeak()
        #expect(throws: CBORError(.unexpectedEnd, at: 0)) { try CBORValue(decoding: bomb) }
        #expect(residentPeak() - before < 128 << 20)
    }

    @Test("a message above the size limit is refused unread")
    func tooLarge() {
        #expect(throws: CBORError(.tooLarge, at: 0)) {
            try CBORValue(decoding: [0x43, 1, 2, 3], limits: .init(octets: 3))
        }
    }

    @Test("a hundred thousand random messages do not trap, and what decodes encodes to the same bytes")
    func randomMessages() {
        var generator = SplitMix64(seed: 3)
        for _ in 1...100_000 {
            let count = Int.random(in: 0...24, using: &generator)
            let octets = (0..<count).map { _ in UInt8.random(in: .min ... .max, using: &generator) }
            _ = try? CBORValue(decoding: octets, limits: .wellFormed)
            let limits = CBORLimits(allowsTags: true, allowsAllSimpleValues: true)
            if let value = try? CBORValue(decoding: octets, limits: limits) {
                #expect(value.encoded() == octets)
            }
        }
    }
}
