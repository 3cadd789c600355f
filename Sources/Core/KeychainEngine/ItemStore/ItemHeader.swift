internal import KeychainModel

/// The identity and access rules of an item; the first part of its sealed attributes.
///
/// Its bytes are associated data of the item's key and data, so that neither can be moved to another item, to an older
/// state of the same item, or under weaker access rules.
struct ItemHeader {
    static let format: UInt8 = 1

    /// Incremented with each change of the item.
    let generation: UInt64
    /// The enrolled set that the item is bound to; 0 if it is bound to none.
    let epoch: UInt64
    let itemClass: ItemClass
    let accessControl: AccessControl
    let group: String
    let digests: LookupDigests

    func encoded() -> [UInt8] {
        var octets: [UInt8] = []
        octets.reserveCapacity(OpenedHeader.fixedByteCount + group.utf8.count + LookupDigests.byteCount)
        octets.append(Self.format)
        octets.append(Self.code(of: itemClass))
        octets.append(Self.code(of: accessControl.accessibility))
        Self.append(generation, to: &octets)
        Self.append(epoch, to: &octets)
        Self.append(accessControl.flags.rawValue, to: &octets)
        octets.append(UInt8(truncatingIfNeeded: group.utf8.count >> 8))
        octets.append(UInt8(truncatingIfNeeded: group.utf8.count))
        octets += group.utf8
        octets += digests.octets
        return octets
    }

    private static func append(_ number: UInt64, to octets: inout [UInt8]) {
        unsafe withUnsafeBytes(of: number.bigEndian) { unsafe octets.append(contentsOf: $0) }
    }
}

extension ItemHeader {
    static func code(of itemClass: ItemClass) -> UInt8 {
        switch itemClass {
        case .genericPassword: 1
        case .internetPassword: 2
        case .key: 3
        case .certificate: 4
        case .identity: 5
        }
    }

    static func code(of accessibility: Accessibility) -> UInt8 {
        switch accessibility {
        case .whenUnlocked: 1
        case .afterFirstUnlock: 2
        case .always: 3
        case .whenPasscodeSetThisDeviceOnly: 4
        case .whenUnlockedThisDeviceOnly: 5
        case .afterFirstUnlockThisDeviceOnly: 6
        case .alwaysThisDeviceOnly: 7
        }
    }

    static func accessibility(of code: UInt8) -> Accessibility? {
        switch code {
        case 1: .whenUnlocked
        case 2: .afterFirstUnlock
        case 3: .always
        case 4: .whenPasscodeSetThisDeviceOnly
        case 5: .whenUnlockedThisDeviceOnly
        case 6: .afterFirstUnlockThisDeviceOnly
        case 7: .alwaysThisDeviceOnly
        default: nil
        }
    }
}

/// An item's opened attributes, read in place: the end of the header, and the fields that a look-up needs.
///
/// The bytes are already authenticated; bounds are checked nevertheless.
@safe
struct OpenedHeader {
    fileprivate static let fixedByteCount = 29

    private let octets: UnsafeRawBufferPointer
    /// The header's length.
    let byteCount: Int
    /// Where the attributes' map starts.
    private let start: Int

    /// Reads opened attributes; valid as long as the bytes are lent.
    init?(_ octets: UnsafeRawBufferPointer) {
        guard octets.count > Self.fixedByteCount, unsafe octets[0] == ItemHeader.format else { return nil }
        let groupByteCount = unsafe Int(octets[27]) << 8 | Int(octets[28])
        let byteCount = Self.fixedByteCount + groupByteCount + LookupDigests.byteCount
        guard byteCount < octets.count else { return nil }
        let hasDigest = unsafe octets[byteCount] == DataDigest.head
        start = byteCount + (hasDigest ? DataDigest.encodedByteCount : 0)
        guard start < octets.count else { return nil }
        unsafe self.octets = octets
        self.byteCount = byteCount
    }

    /// The digest of the item's sealed data; nil without data, and for an item that an earlier version stored.
    var dataDigest: DataDigest? {
        guard start > byteCount else { return nil }
        return unsafe DataDigest(UnsafeRawBufferPointer(rebasing: octets[byteCount..<start]))
    }

    var generation: UInt64 { unsafe octets.loadUnaligned(fromByteOffset: 3, as: UInt64.self).bigEndian }
    var epoch: UInt64 { unsafe octets.loadUnaligned(fromByteOffset: 11, as: UInt64.self).bigEndian }
    var flags: AccessControlFlags {
        AccessControlFlags(
            rawValue: unsafe octets.loadUnaligned(fromByteOffset: 19, as: UInt64.self).bigEndian
        )
    }
    var accessibility: Accessibility? { unsafe ItemHeader.accessibility(of: octets[2]) }
    var itemClass: ItemClass? { ItemClass.allCases.first { has($0) } }

    var accessControl: AccessControl? {
        guard let accessibility else { return nil }
        guard !flags.isEmpty else { return AccessControl(accessibility: accessibility) }
        return try? AccessControl(accessibility: accessibility, flags: flags)
    }

    func has(_ itemClass: ItemClass) -> Bool { unsafe octets[1] == ItemHeader.code(of: itemClass) }

    /// The group's name in UTF-8.
    var group: UnsafeRawBufferPointer {
        unsafe UnsafeRawBufferPointer(
            rebasing: octets[Self.fixedByteCount..<(byteCount - LookupDigests.byteCount)]
        )
    }

    var digests: UnsafeRawBufferPointer {
        unsafe UnsafeRawBufferPointer(rebasing: octets[(byteCount - LookupDigests.byteCount)..<byteCount])
    }

    func digest(_ part: LookupDigests.Part) -> UnsafeRawBufferPointer {
        unsafe UnsafeRawBufferPointer(rebasing: digests[part.range])
    }

    /// The header's own bytes.
    var header: UnsafeRawBufferPointer { unsafe UnsafeRawBufferPointer(rebasing: octets[..<byteCount]) }

    /// The attributes, a CBOR map.
    var attributes: UnsafeRawBufferPointer { unsafe UnsafeRawBufferPointer(rebasing: octets[start...]) }

    /// The access control without constraints that can no longer be met: one to a replaced enrolled set is dropped if
    /// another constraint is sufficient.
    ///
    /// - Returns: nil if the item is invalidated.
    func accessControl(atEpoch current: UInt64) -> AccessControl?? {
        guard let full = accessControl else { return .some(nil) }
        guard epoch != 0, epoch != current, full.flags.contains(.biometryCurrentSet) else { return full }
        let rest = full.constraints.filter { $0 != .biometryCurrentSet && $0 != .companion }
        guard full.combination == .any, !rest.isEmpty else { return nil }
        let flags = full.flags.subtracting(.biometryCurrentSet)
        return .some(try? AccessControl(accessibility: full.accessibility, flags: flags))
    }
}
