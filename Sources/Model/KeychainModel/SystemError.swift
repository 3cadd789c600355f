import Glibc

/// Error numbers of the system in words, for causes.
package enum SystemError {
    /// For example `No such file or directory`.
    package static func name(of number: CInt) -> String {
        // Since glibc 2.32 the text belongs to the thread.
        unsafe strerror(number).map { unsafe String(cString: $0) } ?? "errno \(number)"
    }
}
