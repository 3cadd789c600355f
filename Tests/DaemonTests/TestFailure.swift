import Glibc

enum TestFailure: Error {
    case system(CInt)
    case timedOut(String)
    case closed
    case unexpected(String)
}
