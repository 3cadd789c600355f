import Glibc
import KeychainModel
import Testing

@Suite("Interrupted system calls")
struct SystemCallTests {
    @Test("a call is repeated while a signal interrupts it, and other failures are returned")
    func again() {
        var results: [(CInt, CInt)] = [
            (-1, EINTR), (-1, EINTR), (7, 0), (-1, EINTR), (-1, EBADF), (0, EINTR),
        ]
        func call() -> CInt {
            let (result, number) = results.removeFirst()
            errno = number
            return result
        }
        #expect(SystemCall.uninterrupted(call) == 7)
        #expect(results.count == 3)
        #expect(SystemCall.uninterrupted(call) == -1)
        #expect(errno == EBADF)
        // The errno of an earlier call is not this call's.
        #expect(SystemCall.uninterrupted(call) == 0)
        #expect(results.isEmpty)
    }
}
