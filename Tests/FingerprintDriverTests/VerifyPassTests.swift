import KeychainModel
import Testing

@testable import FingerprintDriver

@Suite("One pass of a verification")
struct VerifyPassTests {
    private func status(_ result: String, done: Bool = true) -> DeviceSignal.Kind {
        .verifyStatus(result, done: done)
    }

    @Test("a match counts after the answer to VerifyStart and not before")
    func order() {
        var pass = VerifyPass()
        let early = pass.receive(status("verify-match"))
        #expect(early == nil)
        pass.started()
        let match = pass.receive(status("verify-match"))
        #expect(match == .end(.success(.match)))
    }

    @Test("nothing counts after the end")
    func nothingAfterTheEnd() {
        var pass = VerifyPass()
        pass.started()
        let first = pass.receive(status("verify-no-match"))
        #expect(first == .end(.success(.noMatch)))
        let second = pass.receive(status("verify-match"))
        #expect(second == nil)
        pass.started()
        let third = pass.receive(status("verify-match"))
        #expect(third == nil)
    }

    @Test("what VerifyStop itself provokes is not a verdict")
    func afterStop() {
        var pass = VerifyPass()
        pass.started()
        pass.end()
        let late = pass.receive(status("verify-no-match"))
        #expect(late == nil)
    }

    @Test("the finger is known also when its name comes late")
    func lateName() {
        var pass = VerifyPass()
        pass.started()
        _ = pass.receive(status("verify-no-match"))
        _ = pass.receive(.verifyFingerSelected("left-thumb"))
        let finger = pass.selectedFinger
        #expect(finger == "left-thumb")
    }

    @Test(
        "signals that are not as their interface says are no signals",
        arguments: [
            [BusValue.string("verify-match")], [.boolean(true), .string("verify-match")], [],
            [.variant(.string("verify-match")), .boolean(true)],
        ]
    )
    func malformed(arguments: [BusValue]) {
        let signal = DeviceSignal(
            owner: ":1.1",
            path: "/net/reactivated/Fprint/Device/0",
            interface: Fprint.deviceInterface,
            member: "VerifyStatus",
            arguments: arguments
        )
        #expect(signal == nil)
    }
}
