public import CoreFoundation
import Foundation
package import KeychainModel

/// The error of the last `SecItem` function on this thread; nil if it succeeded.
///
/// An addition of Touchstone to Apple's API.
///
/// An `OSStatus` hides the cause. This error has the same number, a recovery suggestion
/// (`NSLocalizedRecoverySuggestionErrorKey`), and under `NSUnderlyingErrorKey` the `LAError` or the driver's
/// own error. It distinguishes an item that was invalidated by a change of the enrolled fingers from one that
/// never existed.
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
        // Called when a thread exits, with the thread's value.
        pthread_key_create(&key) { box in
            if let box { Unmanaged<Box>.fromOpaque(box).release() }
        }
        return key
    }()

    /// The current thread's error.
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
