import CoreFoundation
import Foundation
import KeychainModel
import SecretMemory

/// Turns what `body` throws into a status, and keeps it for ``TouchstoneCopyLastError()``.
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

/// Turns what `body` throws into Core Foundation's error.
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

/// Makes sure that secrets have a place, before anything is done.
///
/// - Throws: `errSecAllocate` where memory cannot be locked.
private func prepareSecretMemory() throws(KeychainError) {
    do {
        try LockedPages.prepare()
    } catch {
        throw KeychainError(error)
    }
}
