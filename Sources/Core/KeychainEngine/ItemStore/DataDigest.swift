internal import CBOR
internal import Primitives

/// A digest of an item's sealed data, among its sealed attributes: changed data is told without the factors that open it.
///
/// It stands between header and attributes as a CBOR byte string of 16 bytes, half of a SHA-256. Items of earlier versions
/// have none until they are changed.
struct DataDigest: Equatable {
    static let byteCount = 16
    /// The head and the digest.
    static let encodedByteCount = 1 + byteCount
    /// The head of a byte string of 16 bytes (RFC 8949, section 3.1); attributes start with that of a map.
    static let head: UInt8 = 0x40 | UInt8(byteCount)

    private let octets: SIMD16<UInt8>

    /// The digest of sealed data.
    init(ofSealed data: UnsafeRawBufferPointer) { octets = unsafe SHA256.half(of: data) }

    /// Reads an encoded digest.
    init(_ encoded: UnsafeRawBufferPointer) {
        octets = unsafe encoded.loadUnaligned(fromByteOffset: 1, as: SIMD16<UInt8>.self)
    }

    func append(to other: inout [UInt8]) {
        other.append(Self.head)
        for index in 0..<Self.byteCount { other.append(octets[index]) }
    }
}
