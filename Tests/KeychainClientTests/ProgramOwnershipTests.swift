import Testing

@testable import KeychainClient

@Suite("Who could replace the daemon's program")
struct ProgramOwnershipTests {
    @Test("a private group has the user's number and no other members")
    func privateGroup() {
        let groups = """
            root:x:0:
            users:x:100:ada,ben
            ada:x:1000:
            ben:x:1001:ben
            shared:x:1002:ada
            """
        #expect(ProgramOwnership.isPrivate(1000, of: 1000, groups: groups))
        #expect(ProgramOwnership.isPrivate(1001, of: 1001, groups: groups))
        #expect(!ProgramOwnership.isPrivate(1002, of: 1002, groups: groups))
        #expect(!ProgramOwnership.isPrivate(100, of: 1000, groups: groups))
        #expect(!ProgramOwnership.isPrivate(1000, of: 1001, groups: groups))
        #expect(!ProgramOwnership.isPrivate(0, of: 0, groups: groups))
        #expect(!ProgramOwnership.isPrivate(1003, of: 1003, groups: groups))
        #expect(!ProgramOwnership.isPrivate(1000, of: 1000, groups: ""))
    }
}
