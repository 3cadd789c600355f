import CTSS2
import SecretMemory

extension TPM {
    /// Makes an index where one is free and runs `body` on it; should that fail, the index is removed again.
    ///
    /// After a power cut it cannot be removed: ``removeLeftovers(_:keeping:)`` does later.
    func withNewIndex<R: ~Copyable>(
        _ kind: TPMBlob.Kind,
        on connection: TPMConnection,
        authorization: borrowing SecretBytes,
        _ make: (TPM2_HANDLE) throws(TPMError) -> NVIndex,
        _ body: (NVIndex) throws(TPMError) -> R
    ) throws(TPMError) -> R {
        for _ in 0..<16 {
            let handle = try freeHandle(on: connection)
            let place = TPMBlob(kind: kind, primaryName: connection.primaryName, index: handle)
            let index = try make(handle)
            try note(place)
            do throws(TPMError) {
                try connection.define(index, authorization: authorization)
            } catch {
                if error.tpmError == ResponseCode.nvDefined {
                    // Somebody else's, made this moment.
                    try forgetNote(of: place)
                    continue
                }
                // Perhaps it was made and the answer lost. One that was written is somebody else's.
                if error.isLostConnection { abandon(index, [index.nameBeforeWritten]) }
                throw error
            }
            do throws(TPMError) {
                return try body(index)
            } catch {
                abandon(index, [index.name, index.nameBeforeWritten])
                throw error
            }
        }
        throw .response(ResponseCode(rawValue: ResponseCode.nvDefined))
    }

    /// Removes an index that could not be completed, on a new connection where the old one was lost.
    private func abandon(_ index: NVIndex, _ names: [[UInt8]]) {
        try? withConnection { connection throws(TPMError) in try connection.undefine(index, named: names) }
    }
}
