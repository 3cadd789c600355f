import BrokerProtocol
import CLinux
import Glibc
import KeychainModel
import SystemFacts
import Testing
import TouchstoneBroker
import TouchstoneTesting

@Suite("The broker answers a daemon about its own user only")
struct DaemonUnitTests {
    @Test(
        "the daemon's user is read from its unit's control group, which the account cannot change",
        arguments: [
            ("0::/system.slice/system-touchstoned.slice/touchstoned@1000.service", 1000 as UInt32?),
            ("0::/system.slice/touchstoned@0.service", 0),
            // Both cgroup hierarchies of the service manager, which must agree, and other controllers.
            (
                """
                9:name=systemd:/system.slice/touchstoned@1000.service
                4:memory:/system.slice/touchstoned@1001.service
                0::/system.slice/touchstoned@1000.service
                """, 1000
            ),
            ("1:name=systemd:/system.slice/touchstoned@1000.service\n0::/", 1000),
            (
                "1:name=systemd:/system.slice/touchstoned@1000.service\n0::/system.slice/touchstoned@1001.service",
                nil
            ),
            ("", nil), ("0::/", nil), ("0::", nil), ("0", nil),
            ("0::/touchstoned@1000.service", nil),
            ("4:memory:/system.slice/touchstoned@1000.service", nil),
            // A user's own service manager names the units below user.slice.
            ("0::/user.slice/user-1001.slice/user@1001.service/touchstoned@1000.service", nil),
            ("0::/system.slice/touchstoned@1000.service/payload", nil),
            ("0::/system.slice/touchstoned@1000.scope", nil),
            ("0::/system.slice/x-touchstoned@1000.service", nil),
            ("0::/system.slice/touchstoned@.service", nil),
            ("0::/system.slice/touchstoned@01000.service", nil),
            ("0::/system.slice/touchstoned@+1000.service", nil),
            ("0::/system.slice/touchstoned@4294967296.service", nil),
            ("0::/../system.slice/touchstoned@1000.service:x", nil),
        ]
    )
    func names(text: String, owner: UInt32?) {
        #expect(DaemonUnit.owner(in: text) == owner)
        #expect(DaemonUnit.owner(in: text + "\n") == owner)
    }

    @Test(
        "other users' processes and fingers, and callers that are not a daemon, are refused"
    )
    func answers() throws {
        let own = Owner.ofThisProcess().uid
        let witness = try #require(Witness(machine: getpid(), templates: "/nonexistent"))
        let handle = clinux_pidfd_open(getpid())
        try #require(handle >= 0)
        defer { close(handle) }
        func refusal(_ request: BrokerRequest, _ asker: Witness.Asker) -> String? {
            let isIdentity = request == .identify
            return witness.answer(request, handle: isIdentity ? handle : -1, to: asker)?.reply.text(.refused)
        }
        for asker in [Witness.Asker.anybody, .user(own)] {
            let answer = witness.answer(.identify, handle: handle, to: asker)
            #expect(answer?.reply.number(.start) == ProcessStat(of: getpid())?.start)
            #expect(refusal(.enrolment(uid: own), asker) == "the templates cannot be read")
        }
        #expect(refusal(.identify, .user(own &+ 1)) == "another user's process")
        #expect(refusal(.enrolment(uid: own), .user(own &+ 1)) == "another user")
        #expect(refusal(.identify, .nobody) == BrokerReply.noDaemon)
        #expect(refusal(.enrolment(uid: own), .nobody) == BrokerReply.noDaemon)
        // An invalid request gets no answer, whoever asks.
        for asker in [Witness.Asker.anybody, .user(own), .nobody] {
            #expect(witness.answer(.identify, handle: -1, to: asker) == nil)
            #expect(witness.answer(.enrolment(uid: own), handle: handle, to: asker) == nil)
        }
    }
}
