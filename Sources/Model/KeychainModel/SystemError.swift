import Glibc

/// The system's error numbers in words, for causes.
package enum SystemError {
    /// For example `No such file or directory`.
    package static func name(of number: CInt) -> String {
        // Since glibc 2.32 the text is thread-local.
        unsafe strerror(number).map { unsafe String(cString: $0) } ?? "errno \(number)"
    }
}
