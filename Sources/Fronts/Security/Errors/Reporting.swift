import CoreFoundation
import Foundation
import KeychainModel
import SecretMemory

/// Runs `body`, returns its status and keeps its error for ``TouchstoneCopyLastError()``.
func keychainStatus(_ body: () throws(KeychainError) -> Void) -> OSStatus {
    do {
        try prepareSecretMemory()
        try body()
        LastError.current = nil
        return errSecSuccess
    } catch {
        LastError.current = error
        return error.status.rawValue
    }
}

/// Runs `body` and converts its error to a `CFError`.
func reporting<Result>(
    _ error: UnsafeMutablePointer<Unmanaged<CFError>?>?,
    _ body: () throws(KeychainError) -> Result
) -> Result? {
    do {
        try prepareSecretMemory()
        return try body()
    } catch let failure {
        error?.pointee = Unmanaged.passRetained(NSError(failure))
        return nil
    }
}

/// Prepares locked memory for secrets, before an operation starts.
///
/// - Throws: `errSecAllocate` if memory cannot be locked.
private func prepareSecretMemory() throws(KeychainError) {
    do {
        try LockedPages.prepare()
    } catch {
        throw KeychainError(error)
    }
}
