import KeychainModel
import MessageBus
import Testing

@testable import FingerprintDriver

@Suite("A single verification pass")
struct VerifyPassTests {
    private func status(_ result: String, done: Bool = true) -> DeviceSignal.Kind {
        .verifyStatus(result, done: done)
    }

    @Test("a match counts only after the reply to VerifyStart")
    func order() {
        var pass = VerifyPass()
        let early = pass.receive(status("verify-match"))
        #expect(early == nil)
        pass.started()
        let match = pass.receive(status("verify-match"))
        #expect(match == .end(.success(.match)))
    }

    @Test("nothing counts after the end of the pass")
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

    @Test("a status caused by VerifyStop is not a verdict")
    func afterStop() {
        var pass = VerifyPass()
        pass.started()
        pass.end()
        let late = pass.receive(status("verify-no-match"))
        #expect(late == nil)
    }

    @Test("the finger is known, also if its name arrives late")
    func lateName() {
        var pass = VerifyPass()
        pass.started()
        _ = pass.receive(status("verify-no-match"))
        _ = pass.receive(.verifyFingerSelected("left-thumb"))
        let finger = pass.selectedFinger
        #expect(finger == "left-thumb")
    }

    @Test(
        "malformed signals are ignored",
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
