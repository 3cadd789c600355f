import CTSS2
import SecretMemory

/// P-256 numbers as 32 bytes: a chip may omit leading zeros.
enum P256Octets {
    /// The length of a number or coordinate.
    static let count = 32
    /// The length of a point in uncompressed X9.63.
    static let pointCount = 65

    /// A chip's number, padded with leading zeros.
    static func padded(_ number: [UInt8]) -> [UInt8] {
        [UInt8](repeating: 0, count: max(0, count - number.count)) + number
    }

    /// Uncompressed X9.63.
    static func x963(_ point: TPMS_ECC_POINT) -> [UInt8] {
        [4] + padded(TPM2B.octets(of: point.x)) + padded(TPM2B.octets(of: point.y))
    }

    /// The point of an uncompressed X9.63 form; nil if malformed.
    ///
    /// The chip checks whether it is on the curve.
    static func point(x963 octets: [UInt8]) -> TPM2B_ECC_POINT? {
        guard octets.count == pointCount, octets[0] == 4 else { return nil }
        var point = TPM2B_ECC_POINT()
        do {
            try TPM2B.set(&point.point.x, Array(octets[1...count]))
            try TPM2B.set(&point.point.y, Array(octets[(count + 1)...]))
        } catch {
            return nil
        }
        return point
    }

    /// r and s of a signature that the library allocated; the structure is freed.
    static func signature(
        taking signature: UnsafeMutablePointer<TPMT_SIGNATURE>?
    ) throws(TPMError) -> [UInt8] {
        guard let signature = unsafe signature else { throw .damaged }
        defer { unsafe Esys_Free(signature) }
        let pair = unsafe signature.pointee.signature.ecdsa
        return padded(TPM2B.octets(of: pair.signatureR)) + padded(TPM2B.octets(of: pair.signatureS))
    }

    /// The x coordinate of a point that the library allocated; the structure is wiped and freed.
    static func sharedSecret(
        taking point: UnsafeMutablePointer<TPM2B_ECC_POINT>?
    ) throws(TPMError) -> SecretBytes {
        guard let point = unsafe point else { throw .damaged }
        defer {
            unsafe TPM2B.wipe(&point.pointee)
            unsafe Esys_Free(point)
        }
        return unsafe withUnsafeBytes(of: &point.pointee.point.x) { coordinate in
            let octetCount = unsafe min(Int(coordinate.load(as: UInt16.self)), count)
            let octets = unsafe UnsafeRawBufferPointer(rebasing: coordinate[2..<(2 + octetCount)])
            return unsafe SecretBytes(octetCount: count) { secret in
                let rest = unsafe UnsafeMutableRawBufferPointer(rebasing: secret[(count - octetCount)...])
                unsafe rest.copyMemory(from: octets)
            }
        }
    }
}
