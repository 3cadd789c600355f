import Glibc
import KeychainModel
import Testing

@Suite("A call of the system")
struct SystemCallTests {
    @Test("is made again for as long as a signal interrupts it, and its other failures are told")
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
        // A number that an earlier call left behind is not this call's.
        #expect(SystemCall.uninterrupted(call) == 0)
        #expect(results.isEmpty)
    }
}
