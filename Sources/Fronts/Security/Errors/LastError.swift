public import CoreFoundation
import Foundation
package import KeychainModel

/// Touchstone's own, not Apple's: why the last `SecItem` function on this thread failed; nil if it succeeded.
///
/// An `OSStatus` hides the cause. This error has the same number, what the user can do
/// (`NSLocalizedRecoverySuggestionErrorKey`), and under `NSUnderlyingErrorKey` the `LAError` or the driver's
/// own error: an item that is gone because the enrolled fingers changed is told from one that never was.
public func TouchstoneCopyLastError() -> CFError? {
    LastError.current.map { NSError($0) }
}

/// The error of the last operation of each thread.
package enum LastError {
    private final class Box {
        let error: KeychainError
        init(_ error: KeychainError) { self.error = error }
    }

    private static let key: pthread_key_t = {
        var key = pthread_key_t()
        // Called at a thread's end with what the thread had set.
        pthread_key_create(&key) { box in
            if let box { Unmanaged<Box>.fromOpaque(box).release() }
        }
        return key
    }()

    /// The present thread's error.
    package static var current: KeychainError? {
        get {
            guard let box = pthread_getspecific(key) else { return nil }
            return Unmanaged<Box>.fromOpaque(box).takeUnretainedValue().error
        }
        set {
            if let old = pthread_getspecific(key) { Unmanaged<Box>.fromOpaque(old).release() }
            pthread_setspecific(
                key,
                newValue.map { UnsafeRawPointer(Unmanaged.passRetained(Box($0)).toOpaque()) }
            )
        }
    }
}
