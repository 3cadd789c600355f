import Glibc
import KeychainModel
import Testing

@Suite("Whose keychain it is")
struct OwnerTests {
    @Test("the owner of this process has the number and the name that id(1) tells")
    func own() throws {
        let owner = Owner.ofThisProcess()
        #expect(owner.uid == geteuid())
        #expect(owner.uid == ProcessUser.uid)
        let entry = try #require(getpwuid(geteuid()))
        #expect(owner.name == String(cString: entry.pointee.pw_name))
    }
}
