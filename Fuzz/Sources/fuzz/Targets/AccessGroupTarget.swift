import Desk
import KeychainModel

/// A file that grants programs access groups.
enum AccessGroupTarget: FuzzTarget {
    static let name = "access-groups"

    static func run(_ input: Span<UInt8>) {
        // The file's reader rejects invalid UTF-8 first.
        guard let text = String(validating: input.array, as: UTF8.self) else { return }
        var manifest = AccessGroupManifest()
        do throws(AccessGroupManifest.Fault) {
            try manifest.add(text)
        } catch {
            let lines = input.array.split(separator: 0x0A, omittingEmptySubsequences: false).count
            require((1...lines).contains(error.line) && !error.reason.isEmpty, "a fault says where and why")
        }
        require(manifest.groups(of: nil).isEmpty, "nobody has nothing")
        for line in input.array.split(separator: 0x0A) {
            let groups = manifest.groups(of: String(decoding: line, as: UTF8.self))
            require(groups.count <= AccessGroupManifest.mostGroups, "few groups")
            for group in groups {
                require(text.utf8.contains("[\(group.name)]".utf8), "a line names the group")
            }
        }
    }

    static func seeds() -> [[UInt8]] {
        let many = (0...AccessGroupManifest.mostGroups).map { "[g\($0)]\n/bin/a\n" }.joined()
        let texts = [
            "", "\n", "# comment\n", "[a]\n/bin/a\n", "[a]\n/bin/a\n[b]\n/bin/a\n/bin/b\n",
            "[a]\r\n/bin/a\r\n", " [a] \n\t/opt/a b \n", "/bin/a\n", "[a\n", "[]\n", "[a]\nbin/a\n",
            "[a]\n/b\0\n", "[[a]]\n/bin/a", "[a]\n/caf\u{E9}\n/cafe\u{301}", "#\u{301}\n", "[\u{301}]\n/a",
            many,
        ]
        let seeds = texts.map { Array($0.utf8) }
        return seeds + seeds.flatMap { damaged($0) } + [[0xFF]]
    }
}
