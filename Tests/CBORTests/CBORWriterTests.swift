import CBOR
import Testing

@Suite("CBOR writer")
struct CBORWriterTests {
    private func write(_ body: (inout CBORWriter<[UInt8]>) -> Void) -> [UInt8] {
        var writer = CBORWriter([UInt8]())
        body(&writer)
        return writer.finish()
    }

    @Test("heads are written in the shortest form")
    func heads() {
        let steps: [(UInt64, String)] = [
            (23, "17"), (24, "1818"), (255, "18ff"), (256, "190100"), (65535, "19ffff"),
            (65536, "1a00010000"),
            (0xFFFF_FFFF, "1affffffff"), (0x1_0000_0000, "1b0000000100000000"),
        ]
        for (number, hex) in steps { #expect(write { $0.write(unsigned: number) } == .init(hex: hex)) }
        #expect(write { $0.write(-1) } == [0x20])
        #expect(write { $0.write(Int64.min) } == .init(hex: "3b7fffffffffffffff"))
    }

    @Test("a float is written in the shortest form that keeps its value")
    func floats() throws {
        let steps: [(Double, String)] = [
            (0, "f90000"), (-0.0, "f98000"), (1.5, "f93e00"), (65504, "f97bff"), (65536, "fa47800000"),
            (0x1p-24, "f90001"), (0x1p-25, "fa33000000"), (0x1p-14, "f90400"), (1.1, "fb3ff199999999999a"),
            (100_000, "fa47c35000"), (.infinity, "f97c00"), (-.infinity, "f9fc00"), (.nan, "f97e00"),
            (-.nan, "f97e00"), (0x1.004p0, "f93c01"), (0x1.002p0, "fa3f801000"),
        ]
        for (number, hex) in steps {
            let octets = write { $0.write(number) }
            #expect(octets == .init(hex: hex), "\(number)")
            let read = try CBORReader.read(octets) { try $0.readDouble() }
            #expect(read == number || read.isNaN && number.isNaN)
        }
    }

    @Test("all 65 536 half-precision values survive a round trip")
    func halves() throws {
        for bits in UInt16.min...UInt16.max {
            let octets = [0xF9, UInt8(bits >> 8), UInt8(bits & 0xFF)]
            let value = try CBORValue(decoding: octets, limits: .wellFormed)
            let isNaN = bits & 0x7C00 == 0x7C00 && bits & 0x3FF != 0
            #expect(value.encoded() == (isNaN ? [0xF9, 0x7E, 0x00] : octets))
        }
    }

    @Test("a value sorts its map keys by their encoding")
    func sortsKeys() throws {
        let value = CBORValue.map([
            CBORPair(.text("aa"), .null), CBORPair(.text("b"), .null), CBORPair(.integer(-1), .null),
            CBORPair(.unsigned(100), .null), CBORPair(.unsigned(10), .null),
        ])
        let octets = value.encoded()
        #expect(octets == .init(hex: "a5" + "0af6" + "1864f6" + "20f6" + "6162f6" + "626161f6"))
        _ = try CBORValue(decoding: octets)
    }

    @Test("a byte string can be written in parts, and encoded CBOR inserted")
    func parts() throws {
        let octets = write { writer in
            writer.writeArrayHead(count: 2)
            writer.writeBytesHead(count: 3)
            writer.writeRaw([1])
            writer.writeRaw([2, 3])
            writer.writeRaw([0x80])
        }
        #expect(try CBORValue(decoding: octets) == .array([.bytes([1, 2, 3]), .array([])]))
    }
}
