import CTSS2
package import KeychainModel

extension TPM {
    /// The objects and sessions that are loaded in the chip, this connection's own two among them.
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

    /// The NV indices in the part of the handles that the driver uses.
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
