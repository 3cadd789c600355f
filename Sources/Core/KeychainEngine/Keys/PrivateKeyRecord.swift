internal import CBOR
internal import KeychainModel
internal import Primitives

/// The content of a private key's representation: its access rules, and the authorisation wrapped for exactly these.
///
/// A representation is the format and, sealed under the metadata key, CBOR `[header, wraps]`; the header is CBOR
/// `[group, access control, epoch, hardware, public key, blob]` (format 1), and the limits of a key that has some (format 2,
/// which earlier versions refuse). The store and the header's bytes are associated data of the wraps, so that no part can be
/// combined with weaker rules or another key.
struct PrivateKeyRecord {
    /// The format of a key without limits, and that of one with limits.
    static let (format, limitedFormat): (UInt8, UInt8) = (1, 2)

    let group: AccessGroup
    let accessControl: AccessControl
    /// The enrolled set that the key is bound to; 0 if it is bound to none.
    let epoch: UInt64
    /// Whether hardware created the key and keeps it.
    let isHardware: Bool
    let hardwareKey: HardwareKey
    /// When it may be used, how often, and whether its signatures are counted.
    let limits: KeyLimits
    /// The authorisation that the hardware needs, wrapped like an item's key.
    private let wraps: [UInt8]

    /// Wraps the authorisation of a new key.
    init(
        _ hardwareKey: HardwareKey,
        isHardware: Bool,
        authorization: Key,
        accessControl: AccessControl,
        group: AccessGroup,
        limits: KeyLimits,
        password: Key?,
        in context: ItemContext
    ) throws(KeychainError) {
        self.group = group
        self.accessControl = accessControl
        self.isHardware = isHardware
        self.hardwareKey = hardwareKey
        self.limits = limits
        epoch = accessControl.flags.contains(.biometryCurrentSet) ? context.epoch : 0
        let header = Self.header(group, accessControl, epoch, isHardware, hardwareKey, limits)
        var random = RandomSupply()
        wraps = try ItemKeyWrap.wrap(
            authorization,
            for: accessControl,
            in: context,
            password: password,
            authenticating: Self.label(.authorization, storeID: context.storeID) + header,
            &random
        )
    }

    static let idByteCount = 16

    /// What the key is known by after its deletion, in whatever representation: half of the SHA-256 of its public key.
    var id: [UInt8] {
        let half = unsafe hardwareKey.publicKey.withUnsafeBytes { unsafe SHA256.half(of: $0) }
        return (0..<Self.idByteCount).map { half[$0] }
    }

    /// The access control without constraints that can no longer be met: one to a replaced enrolled set is dropped if
    /// another constraint is sufficient.
    ///
    /// - Returns: nil if the key is invalidated.
    func accessControl(atEpoch current: UInt64) -> AccessControl? {
        guard epoch != 0, epoch != current else { return accessControl }
        let isOtherEnough = accessControl.constraints.contains {
            $0 != .biometryCurrentSet && $0 != .companion
        }
        guard accessControl.combination == .any, isOtherEnough else { return nil }
        let flags = accessControl.flags.subtracting(.biometryCurrentSet)
        return try? AccessControl(accessibility: accessControl.accessibility, flags: flags)
    }

    /// Unwraps the authorisation with the secrets in the proofs.
    ///
    /// - Parameters:
    ///   - control: the result of ``accessControl(atEpoch:)``.
    ///   - proofs: the proofs that cover it; their claims alone are not sufficient, the keys are needed.
    ///   - password: the application password's key.
    ///   - context: the open keybag's keys.
    /// - Returns: 32 bytes.
    /// - Throws: ``KeychainError`` with `errSecAuthFailed` if proofs and password do not open it.
    func authorization(
        _ control: AccessControl,
        proofs: [AuthenticationProof],
        password: Key?,
        in context: ItemContext
    ) throws(KeychainError) -> Key {
        let isSetGone = control != accessControl
        return try ItemKeyWrap.open(
            isSetGone ? ItemKeyWrap.withoutCurrentSet(wraps) ?? wraps : wraps,
            control: control,
            keys: context.keys,
            proofs: proofs,
            password: password,
            authenticating: Self.label(.authorization, storeID: context.storeID) + header
        )
    }

    /// The same key for another group; the group is bound into the wraps, so they are opened and made again.
    ///
    /// The parameters are those of ``authorization(_:proofs:password:in:)``.
    func moved(
        to group: AccessGroup,
        _ control: AccessControl,
        proofs: [AuthenticationProof],
        password: Key?,
        in context: ItemContext
    ) throws(KeychainError) -> PrivateKeyRecord {
        try PrivateKeyRecord(
            hardwareKey,
            isHardware: isHardware,
            authorization: try authorization(control, proofs: proofs, password: password, in: context),
            accessControl: control,
            group: group,
            limits: limits,
            password: password,
            in: context
        )
    }

    private var header: [UInt8] {
        Self.header(group, accessControl, epoch, isHardware, hardwareKey, limits)
    }

    private static func header(
        _ group: AccessGroup,
        _ accessControl: AccessControl,
        _ epoch: UInt64,
        _ isHardware: Bool,
        _ hardwareKey: HardwareKey,
        _ limits: KeyLimits
    ) -> [UInt8] {
        var writer = CBORWriter([UInt8]())
        writer.writeArrayHead(count: limits == .none ? 6 : 7)
        writer.write(text: group.name)
        writer.write(bytes: accessControl.encoded)
        writer.write(unsigned: epoch)
        writer.write(isHardware)
        writer.write(bytes: hardwareKey.publicKey)
        writer.write(bytes: hardwareKey.blob)
        if limits != .none { limits.encode(to: &writer) }
        return writer.finish()
    }

    /// The names of the sealed parts.
    enum Part: String, CaseIterable {
        case authorization = "private key authorization"
        case whole = "private key"
    }

    /// The beginning of a part's associated data.
    static func label(_ part: Part, storeID: [UInt8]) -> [UInt8] {
        Array("touchstone 1 \(part.rawValue) ".utf8) + storeID
    }
}

extension PrivateKeyRecord {
    /// The representation that an app stores.
    func sealed(in context: ItemContext) throws(KeychainError) -> [UInt8] {
        let metadata = context.keys.metadata
        var writer = CBORWriter([UInt8]())
        writer.writeArrayHead(count: 2)
        writer.write(bytes: header)
        writer.write(bytes: Array(wraps))
        let sealed = unsafe writer.finish().withUnsafeBytes {
            unsafe AEAD.seal(
                $0,
                with: metadata.symmetric,
                authenticating: Self.label(.whole, storeID: context.storeID)
            )
        }
        return [limits == .none ? Self.format : Self.limitedFormat] + sealed
    }

    /// Opens a representation.
    ///
    /// - Throws: ``KeychainError`` with `errSecDecode` if it was not sealed for this store.
    init(_ representation: [UInt8], in context: ItemContext) throws(KeychainError) {
        guard representation.count <= EnclaveKey.longestRepresentation, let format = representation.first,
            format == Self.format || format == Self.limitedFormat
        else { throw .damaged }
        let metadata = context.keys.metadata
        do {
            self = try unsafe AEAD.open(
                Array(representation.dropFirst()),
                with: metadata.symmetric,
                authenticating: Self.label(.whole, storeID: context.storeID)
            ) { octets in
                try unsafe CBORReader.read(octets) { reader in
                    try reader.readFields(2)
                    return try Self(
                        header: try reader.readBytes(),
                        wraps: try reader.readBytes(),
                        isLimited: format == Self.limitedFormat
                    )
                }
            }
        } catch {
            throw .damaged
        }
    }

    private init(header: [UInt8], wraps: [UInt8], isLimited: Bool) throws {
        self = try CBORReader.read(header) { reader in
            try reader.readFields(isLimited ? 7 : 6)
            guard let group = AccessGroup(try reader.readText()) else { throw AEAD.NotAuthentic() }
            let record = PrivateKeyRecord(
                group: group,
                accessControl: try AccessControl(decoding: try reader.readBytes()),
                epoch: try reader.readUnsigned(),
                isHardware: try reader.readBool(),
                publicKey: try reader.readBytes(),
                blob: try reader.readBytes(),
                limits: isLimited ? try KeyLimits(from: &reader) : .none,
                wraps: wraps
            )
            guard isLimited == (record.limits != .none) else { throw AEAD.NotAuthentic() }
            return record
        }
    }

    private init(
        group: AccessGroup,
        accessControl: AccessControl,
        epoch: UInt64,
        isHardware: Bool,
        publicKey: [UInt8],
        blob: [UInt8],
        limits: KeyLimits,
        wraps: [UInt8]
    ) {
        self.group = group
        self.accessControl = accessControl
        self.epoch = epoch
        self.isHardware = isHardware
        self.limits = limits
        self.wraps = wraps
        hardwareKey = HardwareKey(blob: blob, publicKey: publicKey)
    }
}
