import CTSS2
import KeychainModel
import SecretMemory

/// The index by which the chip knows a keychain: while it is there, a keybag's record that tells of no hardware is refused.
///
/// Other indices do not tell that: an interrupted move to the chip leaves them behind before any record names them.
extension TPM {
    /// See ``TPMHardwareGuard/mark(of:)``; about one command for each of this program's indices.
    func mark(of label: KeychainLabel) throws(KeychainError) -> [UInt8]? {
        do throws(TPMError) {
            return try withConnection { connection throws(TPMError) in
                try Self.mark(of: label, on: connection)
            }
        } catch {
            throw KeychainError(error)
        }
    }

    /// See ``TPMHardwareGuard/makeMark(of:)``.
    func makeMark(of label: KeychainLabel) throws(KeychainError) -> [UInt8] {
        do throws(TPMError) {
            return try withConnection { connection throws(TPMError) in
                if let mark = try Self.mark(of: label, on: connection) { return mark }
                let none = SecretBytes(copying: [])
                return try withNewIndex(
                    .mark,
                    of: label,
                    on: connection,
                    authorization: none,
                    NVIndex.mark
                ) { index throws(TPMError) in Self.mark(index, label, on: connection) }
            }
        } catch {
            throw KeychainError(error)
        }
    }

    private static func mark(
        of label: KeychainLabel,
        on connection: TPMConnection
    ) throws(TPMError) -> [UInt8]? {
        for handle in try connection.handles(from: NVIndex.handles.lowerBound)
        where NVIndex.handles.contains(handle) {
            let index = NVIndex.mark(handle, label)
            if try connection.holds(index) { return mark(index, label, on: connection) }
        }
        return nil
    }

    private static func mark(
        _ index: NVIndex,
        _ label: KeychainLabel,
        on connection: TPMConnection
    ) -> [UInt8] {
        TPMBlob(kind: .mark, primaryName: connection.primaryName, index: index.handle, label: label).encoded()
    }
}
