import Glibc
import KeychainModel
import Testing

@Suite("The owner of a keychain")
struct OwnerTests {
    @Test("this process's owner has the number and name that id(1) prints")
    func own() throws {
        let owner = Owner.ofThisProcess()
        #expect(owner.uid == geteuid())
        #expect(owner.uid == ProcessUser.uid)
        let entry = try #require(getpwuid(geteuid()))
        #expect(owner.name == String(cString: entry.pointee.pw_name))
    }
}
