import SSHFormat
import Testing

@Suite("Values of RFC 4251")
struct SSHValueTests {
    @Test(
        "numbers are written as the RFC's section 5 shows them",
        arguments: [
            ([], [0, 0, 0, 0]),
            ([0, 0], [0, 0, 0, 0]),
            (
                [0x09, 0xA3, 0x78, 0xF9, 0xB2, 0xE3, 0x32, 0xA7],
                [0, 0, 0, 8, 0x09, 0xA3, 0x78, 0xF9, 0xB2, 0xE3, 0x32, 0xA7]
            ),
            ([0x80], [0, 0, 0, 2, 0, 0x80]),
            ([0, 0, 0x7F], [0, 0, 0, 1, 0x7F]),
            ([0, 0xFF, 0], [0, 0, 0, 3, 0, 0xFF, 0]),
        ] as [([UInt8], [UInt8])]
    )
    func mpint(magnitude: [UInt8], encoded: [UInt8]) {
        #expect(written { $0.write(mpint: magnitude) } == encoded)
    }

    private let each: [UInt8] = [
        7, 0x29, 0xB7, 0xF4, 0xAA, 1, 0, 0, 0, 0, 2, 0xFF, 0, 0, 0, 0, 3, 0x68, 0xC3, 0xA4,
    ]

    @Test("each kind of value is written")
    func write() {
        let bytes = written {
            $0.write(byte: 7)
            $0.write(uint32: 699_921_578)
            $0.write(bool: true)
            $0.write(bool: false)
            $0.write(string: [0xFF, 0])
            $0.write(text: "hä")
        }
        #expect(bytes == each)
    }

    @Test("each kind of value is read, and nothing shorter or longer")
    func read() {
        expectExact(each) { bytes in
            var reader = SSHReader(bytes)
            #expect(try reader.readByte() == 7)
            #expect(try reader.readUInt32() == 699_921_578)
            #expect(try reader.readBool())
            #expect(try !reader.readBool())
            #expect(try reader.readString() == [0xFF, 0])
            #expect(try reader.readText() == "hä")
            try reader.requireEnd()
            #expect(reader.isAtEnd)
        }
        #expect(SSHReader([]).isAtEnd)
        #expect(!SSHReader([0]).isAtEnd)
    }

    @Test("a boolean of another value is refused", arguments: [2, 0x80, 0xFF] as [UInt8])
    func bool(byte: UInt8) {
        var reader = SSHReader([byte])
        #expect(throws: SSHFormatError()) { try reader.readBool() }
    }

    @Test(
        "text that is not UTF-8 is refused",
        arguments: [[0xFF], [0xC3], [0xC0, 0x80], [0xED, 0xA0, 0x80]]
    )
    func text(bytes: [UInt8]) {
        var reader = SSHReader(written { $0.write(string: bytes) })
        #expect(throws: SSHFormatError()) { try reader.readText() }
    }

    @Test("a length beyond the end is refused", arguments: [3, 0x7FFF_FFFF, 0x8000_0000, .max] as [UInt32])
    func length(count: UInt32) {
        var reader = SSHReader(written { $0.write(uint32: count) } + [1, 2])
        #expect(throws: SSHFormatError()) { try reader.readString() }
    }
}
