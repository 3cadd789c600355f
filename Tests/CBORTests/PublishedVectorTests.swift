import CBOR
import Foundation
import Testing
import TouchstoneTesting

@Suite("Published CBOR vectors")
struct PublishedVectorTests {
    private static let appendixA = "cbor/appendix-a.json"
    private static let notWellFormed = "cbor/not-well-formed.json"
    private static let canonicalNegatives = "cbor/ctap2-canonical-negatives.json"

    private struct AppendixA: Decodable {
        struct Case: Decodable {
            let hex: String
            let roundtrip: Bool
            let decoded: JSON?
            let diagnostic: String?
        }
        let cases: [Case]
    }

    private struct NotWellFormed: Decodable {
        struct Group: Decodable {
            let kind: String
            let hex: [String]
        }
        let groups: [Group]
    }

    private struct CanonicalNegatives: Decodable {
        struct Case: Decodable {
            let why: String
            let hex: String
        }
        let cases: [Case]
    }

    @Test(
        "every example of RFC 8949, appendix A decodes to its value",
        .enabled(if: PublishedVectors.has(appendixA), "the published vectors are not there")
    )
    func appendixADecodes() throws {
        let vectors = try PublishedVectors.load(AppendixA.self, from: Self.appendixA)
        #expect(vectors.cases.count > 70)
        for vector in vectors.cases {
            let value = try CBORValue(decoding: .init(hex: vector.hex), limits: .wellFormed)
            if let diagnostic = vector.diagnostic {
                // A decoded value does not keep the chunks of its string.
                let joined = diagnostic.replacing("(_ h'0102', h'030405')", with: "h'0102030405'")
                #expect(value.diagnostic == joined, "\(vector.hex)")
            } else {
                // JSONDecoder turns a "decoded" null into nil.
                let expected = vector.decoded ?? .null
                #expect(expected.matches(value), "\(vector.hex)")
            }
        }
    }

    @Test(
        "examples that appendix A marks as round trips encode to the same bytes",
        .enabled(if: PublishedVectors.has(appendixA), "the published vectors are not there")
    )
    func appendixARoundTrips() throws {
        let vectors = try PublishedVectors.load(AppendixA.self, from: Self.appendixA)
        for vector in vectors.cases where vector.roundtrip {
            let octets = [UInt8](hex: vector.hex)
            let value = try CBORValue(decoding: octets, limits: .wellFormed)
            #expect(value.encoded() == octets, "\(vector.hex)")
            let limits = CBORLimits(allowsTags: true, allowsAllSimpleValues: true)
            let strict = try CBORValue(decoding: octets, limits: limits)
            #expect(strict.encoded() == octets, "\(vector.hex)")
        }
    }

    @Test(
        "the strict form refuses the other examples of appendix A",
        .enabled(if: PublishedVectors.has(appendixA), "the published vectors are not there")
    )
    func strictFormRefusesOtherForms() throws {
        let vectors = try PublishedVectors.load(AppendixA.self, from: Self.appendixA)
        for vector in vectors.cases where !vector.roundtrip {
            #expect(throws: CBORError.self, "\(vector.hex)") {
                try CBORValue(decoding: .init(hex: vector.hex), limits: .init(allowsTags: true))
            }
        }
    }

    @Test(
        "everything in RFC 8949, appendix F is refused, decoded or skipped",
        .enabled(if: PublishedVectors.has(notWellFormed), "the published vectors are not there"),
        arguments: [CBORLimits(allowsTags: true, allowsAllSimpleValues: true), .wellFormed]
    )
    func notWellFormedIsRefused(limits: CBORLimits) throws {
        let vectors = try PublishedVectors.load(NotWellFormed.self, from: Self.notWellFormed)
        for group in vectors.groups {
            for hex in group.hex {
                let octets = [UInt8](hex: hex)
                #expect(throws: CBORError.self, "\(group.kind): \(hex)") {
                    try CBORValue(decoding: octets, limits: limits)
                }
                #expect(throws: CBORError.self, "\(group.kind): \(hex)") {
                    try CBORReader.read(octets, limits: limits) { reader in try reader.skipValue() }
                }
            }
        }
    }

    @Test(
        "what CTAP2 does not consider canonical is refused",
        .enabled(if: PublishedVectors.has(canonicalNegatives), "the published vectors are not there")
    )
    func canonicalNegativesAreRefused() throws {
        let vectors = try PublishedVectors.load(CanonicalNegatives.self, from: Self.canonicalNegatives)
        for vector in vectors.cases {
            let octets = [UInt8](hex: vector.hex)
            #expect(throws: CBORError.self, "\(vector.why)") {
                try CBORValue(decoding: octets, limits: .ctap2)
            }
            #expect(throws: CBORError.self, "\(vector.why)") {
                try CBORReader.read(octets, limits: .ctap2) { reader in try reader.skipValue() }
            }
        }
    }
}

/// A JSON value of the vector files, with exact numbers.
private enum JSON: Decodable {
    case null
    case bool(Bool)
    case unsigned(UInt64)
    /// The second value is nil beyond `Decimal`'s range.
    case number(Double, Decimal?)
    case text(String)
    case array([JSON])
    case object([String: JSON])

    init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if container.decodeNil() {
            self = .null
        } else if let flag = try? container.decode(Bool.self) {
            self = .bool(flag)
        } else if let number = try? container.decode(UInt64.self) {
            self = .unsigned(number)
        } else if let number = try? container.decode(Double.self) {
            self = .number(number, try? container.decode(Decimal.self))
        } else if let text = try? container.decode(String.self) {
            self = .text(text)
        } else if let items = try? container.decode([JSON].self) {
            self = .array(items)
        } else {
            self = .object(try container.decode([String: JSON].self))
        }
    }

    func matches(_ value: CBORValue) -> Bool {
        switch (self, value) {
        case (.null, .null): true
        case (.bool(let expected), .bool(let flag)): expected == flag
        case (.unsigned(let expected), .unsigned(let number)): expected == number
        case (.unsigned(let expected), .float(let number)): Double(expected) == number
        case (.number(_, let expected), .negative(let number)): expected == -1 - Decimal(number)
        case (.number(let expected, _), .float(let number)): expected == number
        // Tags 2 and 3 (RFC 8949, section 3.4.3); both examples are just beyond 64 bits.
        case (.number(_, let expected), .tag(2, .bytes(let octets))): expected == Decimal(bigEndian: octets)
        case (.number(_, let expected), .tag(3, .bytes(let octets))):
            expected == -1 - Decimal(bigEndian: octets)
        case (.text(let expected), .text(let text)): expected == text
        case (.array(let expected), .array(let items)):
            expected.count == items.count && zip(expected, items).allSatisfy { $0.matches($1) }
        case (.object(let expected), .map(let pairs)):
            expected.count == pairs.count
                && pairs.allSatisfy { pair in
                    guard case .text(let key) = pair.key else { return false }
                    return expected[key]?.matches(pair.value) ?? false
                }
        default: false
        }
    }
}

extension Decimal {
    fileprivate init(bigEndian octets: [UInt8]) {
        self = octets.reduce(0) { $0 * 256 + Decimal($1) }
    }
}

extension CBORValue {
    /// The diagnostic notation of RFC 8949, section 8, as far as the vectors use it.
    fileprivate var diagnostic: String {
        switch self {
        case .unsigned(let number): "\(number)"
        case .bytes(let octets): "h'" + octets.map { String(format: "%02x", $0) }.joined() + "'"
        case .text(let text): "\"\(text)\""
        case .map(let pairs):
            "{" + pairs.map { "\($0.key.diagnostic): \($0.value.diagnostic)" }.joined(separator: ", ") + "}"
        case .tag(let number, let item): "\(number)(\(item.diagnostic))"
        case .simple(let number): "simple(\(number))"
        case .undefined: "undefined"
        case .float(.infinity): "Infinity"
        case .float(-.infinity): "-Infinity"
        case .float(let number): number.isNaN ? "NaN" : "\(number)"
        default: "?"
        }
    }
}
