import CTSS2
import Glibc
import SecretMemory

/// Access to the sized buffers of Part 2: a 16-bit size, then the bytes.
///
/// The buffers are not accessed by name: Swift imports them as tuples of hundreds of elements, which take the
/// compiler minutes.
enum TPM2B {
    /// The offset of the bytes.
    private static let offset = MemoryLayout<UInt16>.size

    /// Copies bytes into a structure.
    ///
    /// - Throws: ``TPMError/damaged`` if they do not fit.
    static func set<T>(_ buffer: inout T, _ octets: UnsafeRawBufferPointer) throws(TPMError) {
        guard octets.count <= MemoryLayout<T>.size - offset else { throw .damaged }
        unsafe withUnsafeMutableBytes(of: &buffer) { buffer in
            unsafe buffer.storeBytes(of: UInt16(octets.count), as: UInt16.self)
            unsafe UnsafeMutableRawBufferPointer(rebasing: buffer[offset...]).copyMemory(from: octets)
        }
    }

    /// Copies bytes into a structure.
    static func set<T>(_ buffer: inout T, _ octets: [UInt8]) throws(TPMError) {
        try set(&buffer, octets.span)
    }

    /// Copies bytes into a structure.
    static func set<T>(_ buffer: inout T, _ octets: Span<UInt8>) throws(TPMError) {
        try unsafe octets.withUnsafeBytes { octets throws(TPMError) in try unsafe set(&buffer, octets) }
    }

    /// Copies a secret into a structure, which the caller wipes with ``wipe(_:)``.
    static func set<T>(_ buffer: inout T, _ secret: borrowing SecretBytes) throws(TPMError) {
        try unsafe secret.withUnsafeBytes { octets throws(TPMError) in try unsafe set(&buffer, octets) }
    }

    /// The bytes of a structure that the library allocated; the structure is freed.
    static func take<T>(_ buffer: UnsafeMutablePointer<T>?) -> [UInt8] {
        guard let buffer = unsafe buffer else { return [] }
        defer { unsafe Esys_Free(buffer) }
        return unsafe [UInt8](octets(of: buffer))
    }

    /// The secret in a structure that the library allocated; the structure is wiped and freed.
    static func takeSecret<T>(_ buffer: UnsafeMutablePointer<T>?) -> SecretBytes {
        guard let buffer = unsafe buffer else { return SecretBytes(copying: []) }
        defer {
            unsafe explicit_bzero(buffer, MemoryLayout<T>.size)
            unsafe Esys_Free(buffer)
        }
        return unsafe SecretBytes(copying: octets(of: buffer))
    }

    /// The bytes of a structure.
    static func octets<T>(of buffer: T) -> [UInt8] {
        unsafe withUnsafePointer(to: buffer) { unsafe [UInt8](octets(of: $0)) }
    }

    /// Overwrites a whole structure.
    static func wipe<T>(_ buffer: inout T) {
        unsafe withUnsafeMutableBytes(of: &buffer) { octets in
            guard let start = octets.baseAddress else { return }
            unsafe explicit_bzero(start, octets.count)
        }
    }

    private static func octets<T>(of buffer: UnsafePointer<T>) -> UnsafeRawBufferPointer {
        let raw = unsafe UnsafeRawPointer(buffer)
        let count = min(Int(unsafe raw.load(as: UInt16.self)), MemoryLayout<T>.size - offset)
        return unsafe UnsafeRawBufferPointer(start: raw + offset, count: count)
    }
}

/// Public areas as bytes (`Tss2_MU_TPM2B_PUBLIC_Marshal`).
enum PublicArea {
    /// The marshalled form.
    static func octets(of area: TPM2B_PUBLIC) throws(TPMError) -> [UInt8] {
        var area = area
        var octets = [UInt8](repeating: 0, count: MemoryLayout<TPM2B_PUBLIC>.size)
        var count = 0
        let code = unsafe Tss2_MU_TPM2B_PUBLIC_Marshal(&area, &octets, octets.count, &count)
        guard code == 0 else { throw .response(ResponseCode(rawValue: code)) }
        return Array(octets[..<count])
    }

    /// Parses the marshalled form, which has to be complete and without excess bytes.
    static func read(_ octets: [UInt8]) throws(TPMError) -> TPM2B_PUBLIC {
        var area = TPM2B_PUBLIC()
        var count = 0
        let code = unsafe Tss2_MU_TPM2B_PUBLIC_Unmarshal(octets, octets.count, &count, &area)
        guard code == 0, count == octets.count else { throw .damaged }
        return area
    }
}
