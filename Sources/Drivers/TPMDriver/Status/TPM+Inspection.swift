import CTSS2
package import KeychainModel

extension TPM {
    /// The objects and sessions loaded in the chip, including this connection's two sessions.
    package func loadedHandles() throws(KeychainError) -> [UInt32] {
        do throws(TPMError) {
            return try withConnection { connection throws(TPMError) in
                try connection.handles(from: kTPM2_TRANSIENT_FIRST)
                    + connection.handles(from: kTPM2_LOADED_SESSION_FIRST)
            }
        } catch {
            throw KeychainError(error)
        }
    }

    /// The NV indices in the handle range that the driver uses.
    package func indices() throws(KeychainError) -> [UInt32] {
        do throws(TPMError) {
            return try withConnection { connection throws(TPMError) in
                try connection.handles(from: NVIndex.handles.lowerBound).filter(NVIndex.handles.contains)
            }
        } catch {
            throw KeychainError(error)
        }
    }
}
