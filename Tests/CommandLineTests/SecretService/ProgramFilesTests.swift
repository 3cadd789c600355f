import KeychainModel
import SecretServiceModel
import Testing

/// Programs that may read an item.
@Suite("Programs by their files")
struct ProgramFilesTests {
    private func file(_ number: Int, _ path: String = "/usr/bin/tool") -> ProgramFile {
        ProgramFile(path: path, inode: UInt64(number))
    }

    @Test("a program is its path and its file's number; one that is added again is the last one")
    func identity() {
        let files = ProgramFiles().adding(file(1)).adding(file(2)).adding(file(2, "/usr/bin/a tool")).adding(
            file(1)
        )
        #expect(files.files == [file(2), file(2, "/usr/bin/a tool"), file(1)])
        #expect(files.contains(file(1)) && files.contains(file(2)) && !files.contains(file(3)))
        #expect(!files.contains(file(2, "/usr/bin/a")) && !files.contains(file(1, "/usr/bin/too")))
        // Paths are bytes.
        let (one, two) = (file(5, "/\u{E9}"), file(5, "/e\u{301}"))
        #expect(ProgramFiles().adding(one).contains(one) && !ProgramFiles().adding(one).contains(two))
        let odd = ProgramFiles().adding(file(1, "/a\r")).adding(file(2, "/b")).adding(file(3, "/c\u{301}\r"))
        #expect(odd.files == [file(1, "/a\r"), file(2, "/b"), file(3, "/c\u{301}\r")])
        #expect(odd.contains(file(1, "/a\r")) && odd.contains(file(2, "/b")) && !odd.contains(file(1, "/a")))
        #expect(ProgramFiles().files.isEmpty && !ProgramFiles().contains(file(1)))
    }

    @Test("of too many, or of too long ones, the first are left out; one without a plain path is not added")
    func limits() {
        let many = (1...ProgramFiles.most + 1).reduce(ProgramFiles()) { $0.adding(file($1)) }
        #expect(many.files.count == ProgramFiles.most && !many.contains(file(1)) && many.contains(file(17)))
        let long = "/" + String(repeating: "x", count: 4095)
        let paths = (1...4).reduce(ProgramFiles().adding(file(9))) { $0.adding(file($1, long)) }
        #expect(paths.text.utf8.count <= ProgramFiles.longest && paths.files == [file(4, long)])
        for path in ["", "/a\nb", long + "x"] {
            let same = many.adding(file(1, path))
            #expect(same == many && !same.contains(file(1, path)), "\(path.count)")
        }
    }

    @Test("an item and a rule keep theirs; what is damaged names no program")
    func stored() throws {
        let reference = try #require(PersistentReference(octets: Array(repeating: 7, count: 16)))
        let files = ProgramFiles().adding(file(1)).adding(file(2))
        var attributes = SecretItem.attributes(of: "a", in: "login", SecretItemContent(), readers: files)
        #expect(SecretItem(attributes, reference)?.readers == files)
        for text in ["x /usr/bin/tool", "1", "1/usr/bin/tool", " ", String(repeating: "1 /a\n", count: 3000)]
        {
            attributes[AttributeKey(rawValue: "fs:readers")] = .string(text)
            let read = try #require(SecretItem(attributes, reference)).readers
            #expect(!read.contains(file(1)), "\(text.prefix(20))")
        }
        for audience: ProtectionRule.Audience in [
            .everyone, .programs(["a", "b"]), .strangers(includesProgramKeys: true),
            .strangers(includesProgramKeys: false),
        ] {
            let rule = ProtectionRule(
                name: "r",
                attributes: ["n": "v"],
                accessControl: AccessControl(accessibility: .afterFirstUnlock),
                audience: audience
            )
            #expect(ProtectionRule(rule.stored, reference) == rule)
        }
    }
}
