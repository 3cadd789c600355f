import CBOR

/// Both readers: the strict one must consume all of what it accepts, and accept what the other one read once it is
/// rewritten.
enum CBORTarget: FuzzTarget {
    static let name = "cbor"

    private static let strict: [CBORLimits] = [
        .init(), .ctap2, .init(depth: 3, octets: 64, allowsFloats: false),
        .init(depth: CBORLimits.greatestDepth, allowsTags: true, allowsAllSimpleValues: true),
    ]

    static func run(_ input: Span<UInt8>) {
        for limits in strict { runStrict(input, limits) }
        runInAnyOrder(input)
        runWellFormed(input)
    }

    private static func read(_ input: Span<UInt8>, _ limits: CBORLimits) -> CBORValue? {
        try? CBORReader.read(input, limits: limits) { (reader) throws(CBORError) in try reader.readValue() }
    }

    private static func isSkipped(_ input: Span<UInt8>, _ limits: CBORLimits) -> Bool {
        do {
            try CBORReader.read(input, limits: limits) { (reader) throws(CBORError) in try reader.skipValue()
            }
            return true
        } catch {
            return false
        }
    }

    private static func runStrict(_ input: Span<UInt8>, _ limits: CBORLimits) {
        let value = read(input, limits)
        require(isSkipped(input, limits) == (value != nil), "skipping and reading judge alike")
        guard let value else { return }
        require(value.encoded() == input.array, "one message has one encoding")
    }

    private static func runInAnyOrder(_ input: Span<UInt8>) {
        let value = read(input, .ctap2InAnyOrder)
        require(isSkipped(input, .ctap2InAnyOrder) == (value != nil), "skipping and reading judge alike")
        if read(input, .ctap2) != nil { require(value != nil, "the canonical form is one of the orders") }
        guard let value else { return }
        let encoded = value.encoded()
        require(encoded.count == input.count, "only the order of keys is free")
        let again = try? CBORValue(decoding: encoded, limits: .ctap2)
        require(again?.encoded() == encoded, "sorted, it is canonical: no key was there twice")
    }

    private static func runWellFormed(_ input: Span<UInt8>) {
        let value = read(input, .wellFormed)
        require(isSkipped(input, .wellFormed) == (value != nil), "skipping and reading judge alike")
        guard let value else { return }
        let encoded = value.encoded()
        let limits = CBORLimits(
            depth: CBORLimits.greatestDepth,
            allowsTags: true,
            allowsAllSimpleValues: true
        )
        do {
            let again = try CBORValue(decoding: encoded, limits: limits)
            require(again.encoded() == encoded, "what was written reads back")
        } catch {
            // The only rule that the well-formedness reader does not check.
            require(error.code == .duplicateKey, "what was written is deterministic, not \(error)")
        }
    }

    static func seeds() -> [[UInt8]] {
        // RFC 8949, appendix A.
        let examples = [
            "00", "01", "0a", "17", "1818", "1819", "1864", "1903e8", "1a000f4240", "1b000000e8d4a51000",
            "1bffffffffffffffff", "c249010000000000000000", "3bffffffffffffffff", "20", "29", "3863",
            "3903e7",
            "f90000", "f98000", "f93c00", "fb3ff199999999999a", "f93e00", "f97bff", "fa47c35000",
            "fa7f7fffff",
            "fb7e37e43c8800759c", "f90001", "f90400", "f9c400", "fbc010666666666666", "f97c00", "f97e00",
            "f9fc00",
            "fa7f800000", "fb7ff8000000000000", "f4", "f5", "f6", "f7", "f0", "f8ff",
            "c074323031332d30332d32315432303a30343a30305a", "c11a514b67b0", "d74401020304",
            "d818456449455446",
            "40", "4401020304", "60", "6161", "6449455446", "62225c", "62c3bc", "63e6b0b4", "64f0908591",
            "80", "83010203", "8301820203820405",
            "98190102030405060708090a0b0c0d0e0f101112131415161718181819",
            "a0", "a201020304", "a26161016162820203", "826161a161626163",
            "a56161614161626142616361436164614461656145", "5f42010243030405ff", "7f657374726561646d696e67ff",
            "9fff", "9f018202039f0405ffff", "9f01820203820405ff", "83018202039f0405ff",
            "9f0102030405060708090a0b0c0d0e0f101112131415161718181819ff", "bf61610161629f0203ffff",
            "826161bf61626163ff", "bf6346756ef563416d7421ff", "a2016001f6", "1800", "f818", "fe", "ff",
            "5f4100",
            "81818181818181818181818181818181818101", "9bffffffffffffffff", "5bffffffffffffffff", "61ff",
            "a10102a1",
        ]
        return examples.map { text in
            let digits = Array(text)
            return stride(from: 0, to: digits.count, by: 2).compactMap {
                UInt8(String(digits[$0..<($0 + 2)]), radix: 16)
            }
        }
    }
}
