/// A TPM command as bytes (Part 1, 18), for the few operations of a machine's owner in tests.
struct TPMCommand {
    private var tag: UInt16
    private let code: UInt32
    private var body: [UInt8]

    /// A command on one handle, authorised by a cleartext password.
    init(_ code: UInt32, handle: UInt32, password: [UInt8] = [], parameters: [UInt32] = []) {
        tag = 0x8002
        self.code = code
        // The authorisation area: its size, TPM_RS_PW, no nonce, continueSession, the password.
        let count = UInt8(password.count)
        let area: [UInt8] = [0, 0, 0, 9 + count, 0x40, 0, 0, 9, 0, 0, 1, 0, count] + password
        body = Self.octets(handle) + area + parameters.flatMap(Self.octets)
    }

    /// A command without authorisation, with these bytes after its header.
    init(unauthorized code: UInt32, parameters: [UInt8]) {
        tag = 0x8001
        self.code = code
        body = parameters
    }

    /// `TPM2_NV_DefineSpace` by the owner: an index of the given type, without authorisation value or policy.
    static func defineIndex(_ handle: UInt32, byteCount: UInt16, _ type: UInt32) -> TPMCommand {
        var command = TPMCommand(0x0000_012A, handle: 0x4000_0001)
        command.append([])
        // SHA-256; TPMA_NV_OWNERREAD, OWNERWRITE, NO_DA.
        let area = octets(handle) + [0, 0x0B] + octets(0x0202_0002 | type) + [0, 0]
        command.append(area + [UInt8(byteCount >> 8), UInt8(byteCount & 0xFF)])
        return command
    }

    /// `TPM2_NV_DefineSpace` by the owner: 8 bytes protected by a password, whose wrong guesses count.
    static func defineGuardedIndex(_ handle: UInt32, password: [UInt8]) -> TPMCommand {
        var command = TPMCommand(0x0000_012A, handle: 0x4000_0001)
        command.append(password)
        // SHA-256; TPMA_NV_AUTHREAD, AUTHWRITE.
        command.append(octets(handle) + [0, 0x0B] + octets(0x0004_0004) + [0, 0, 0, 8])
        return command
    }

    /// `TPM2_NV_Read` of the 8 bytes, authorised by the index's own password.
    static func read(_ index: UInt32, password: [UInt8]) -> TPMCommand {
        var command = TPMCommand(0x0000_014E, handle: index, password: password)
        command.body.insert(contentsOf: octets(index), at: 4)
        command.body += [0, 8, 0, 0]
        return command
    }

    /// `TPM2_GetCapability` of `TPM_CAP_HANDLES`.
    static func handles(from first: UInt32) -> TPMCommand {
        TPMCommand(unauthorized: 0x0000_017A, parameters: octets(1) + octets(first) + octets(64))
    }

    /// `TPM2_FlushContext`.
    static func flush(_ handle: UInt32) -> TPMCommand {
        TPMCommand(unauthorized: 0x0000_0165, parameters: octets(handle))
    }

    /// `TPM2_NV_ReadPublic`.
    static func readPublic(_ index: UInt32) -> TPMCommand {
        TPMCommand(unauthorized: 0x0000_0169, parameters: octets(index))
    }

    /// `TPM2_NV_UndefineSpace` by the owner.
    static func undefineIndex(_ index: UInt32) -> TPMCommand {
        var command = TPMCommand(0x0000_0122, handle: 0x4000_0001)
        command.body.insert(contentsOf: octets(index), at: 4)
        return command
    }

    /// Appends a sized buffer.
    mutating func append(_ octets: [UInt8]) {
        body += [UInt8(octets.count >> 8), UInt8(octets.count & 0xFF)] + octets
    }

    /// The whole command.
    var octets: [UInt8] {
        [UInt8(tag >> 8), UInt8(tag & 0xFF)] + Self.octets(UInt32(10 + body.count)) + Self.octets(code) + body
    }

    private static func octets(_ number: UInt32) -> [UInt8] {
        [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: number >> $0) }
    }
}
