import CLinux

/// Overwrites `octets` with zeros; the count stays.
///
/// Reaches this array's own storage only: earlier copies, and bytes past `count` left by a removal, stay. An array
/// that shares its storage with another is copied by the language first, and the other keeps its bytes.
public func wipe(_ octets: inout [UInt8]) {
    unsafe octets.withUnsafeMutableBytes { unsafe clinux_wipe($0.baseAddress, $0.count) }
}

/// ``wipe(_:)`` for memory lent by its owner.
internal func wipe(_ octets: UnsafeMutableRawBufferPointer) {
    unsafe clinux_wipe(octets.baseAddress, octets.count)
}
