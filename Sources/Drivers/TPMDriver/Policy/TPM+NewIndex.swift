import CTSS2
import SecretMemory

extension TPM {
    /// Creates an index at a free handle and runs `body` on it; if that fails, the index is removed again.
    ///
    /// After a power failure it stays until ``removeLeftovers(_:keeping:of:)`` removes it.
    func withNewIndex<R: ~Copyable>(
        _ kind: TPMBlob.Kind,
        of label: KeychainLabel,
        on connection: TPMConnection,
        authorization: borrowing SecretBytes,
        _ make: (TPM2_HANDLE, KeychainLabel) throws(TPMError) -> NVIndex,
        _ body: (NVIndex) throws(TPMError) -> R
    ) throws(TPMError) -> R {
        for _ in 0..<16 {
            let handle = try freeHandle(on: connection)
            let place = TPMBlob(kind: kind, primaryName: connection.primaryName, index: handle, label: label)
            let index = try make(handle, label)
            try note(place)
            do throws(TPMError) {
                try connection.define(index, authorization: authorization)
            } catch {
                if error.tpmError == ResponseCode.nvDefined {
                    // Another program created an index there at the same moment.
                    try forgetNote(of: place)
                    continue
                }
                // It may have been created and the response lost. An index that was written already is another
                // program's.
                if error.isLostConnection { abandon(index, [index.nameBeforeWritten]) }
                throw error
            }
            do throws(TPMError) {
                return try body(index)
            } catch {
                abandon(index, index.names)
                throw error
            }
        }
        throw .response(ResponseCode(rawValue: ResponseCode.nvDefined))
    }

    /// Removes an incomplete index, on a new connection if the old one was lost.
    private func abandon(_ index: NVIndex, _ names: [[UInt8]]) {
        try? withConnection { connection throws(TPMError) in try connection.undefine(index, named: names) }
    }
}
