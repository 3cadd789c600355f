internal import Foundation

/// Bytes that are overwritten when the last reference goes.
final class SecretCopy: @unchecked Sendable {  // immutable
    private let bytes: UnsafeMutableRawBufferPointer

    init(_ data: Data) {
        bytes = .allocate(byteCount: data.count, alignment: 1)
        data.copyBytes(to: bytes)
    }

    deinit {
        if let start = bytes.baseAddress {
            #if canImport(Darwin)
                memset_s(start, bytes.count, 0, bytes.count)
            #else
                explicit_bzero(start, bytes.count)
            #endif
        }
        bytes.deallocate()
    }

    /// Lends the bytes.
    func withBytes<R, E: Error>(_ body: (UnsafeRawBufferPointer) throws(E) -> R) throws(E) -> R {
        try body(UnsafeRawBufferPointer(bytes))
    }
}

/// A secret that was read.
final class FoundSecret: Sendable {
    private let copy: SecretCopy?
    /// The version that was read; empty for an item that other code wrote.
    let version: [UInt8]

    init(_ data: Data?, version: [UInt8]) {
        copy = data.map { SecretCopy($0) }
        self.version = version
    }

    /// Lends the bytes.
    func withBytes<R>(_ body: (RawSpan) -> R) throws(TouchstoneError) -> R {
        // Every item of this module has data; one without is damaged.
        guard let copy else { throw TouchstoneError(.damaged) }
        return copy.withBytes { body($0.bytes) }
    }

    /// A copy in ordinary memory.
    func bytes() throws(TouchstoneError) -> Data {
        try withBytes { bytes in bytes.withUnsafeBytes { Data($0) } }
    }
}
