import Glibc
import KeychainModel
import Testing
import TouchstoneTesting

/// Only root can create the administrator's files.
@Suite(
    "Access group files",
    .enabled(if: Programs.isBuilt, "touchstoned is not built"),
    .enabled(if: geteuid() == 0, "not root")
)
struct AccessGroupFileTests {
    private let home: DaemonHome
    private let grants: String

    init() throws {
        home = try DaemonHome()
        grants = try home.directory.makeDirectory("grants")
        _ = try home.directory.write(
            "test.access-group-directory = \(grants)\n",
            to: "touchstoned.conf"
        )
    }

    private func check() async throws -> Finished {
        try await Finished.running(
            [Programs.touchstoned, "--check-configuration"],
            environment: home.environment
        )
    }

    private func write(_ text: String, to name: String) throws {
        let path = try home.directory.write(text, to: name)
        chmod(path, 0o644)
    }

    @Test("the administrator's files are read by name, and then the user's own")
    func read() async throws {
        try write("[one]\n/usr/bin/mail\n", to: "grants/10-mail.conf")
        try write("not a grant", to: "grants/README")
        try write("[two]\n/usr/bin/mail\n", to: "access-groups.conf")
        #expect(try await check().status == 0)
        try write("[one]\nmail\n", to: "grants/20-more.conf")
        let finished = try await check()
        #expect(finished.status == 1)
        #expect(finished.output.contains("grants/20-more.conf, line 2: not the absolute path of a program"))
        #expect(finished.output.contains("\nhint: "))
    }

    @Test("the directory of access group files may be missing")
    func missing() async throws {
        rmdir(grants)
        #expect(try await check().status == 0)
    }

    /// What makes a file untrustworthy.
    enum Trick: CaseIterable, Sendable {
        case writable, linked, directory, foreign, writableDirectory, foreignDirectory, writableUsers
        case linkedUsers, tooLong, notText, tooMany
    }

    @Test("a file that others could have written is refused", arguments: Trick.allCases)
    func refused(trick: Trick) async throws {
        let file = grants + "/mail.conf"
        try write("[one]\n/usr/bin/mail\n", to: "grants/mail.conf")
        try write("[two]\n/usr/bin/mail\n", to: "access-groups.conf")
        let users = home.directory.appending("access-groups.conf")
        switch trick {
        case .writable: chmod(file, 0o664)
        case .linked:
            rename(file, grants + "/elsewhere")
            symlink(grants + "/elsewhere", file)
        case .directory: _ = try home.directory.makeDirectory("grants/more.conf")
        case .foreign: chown(file, 12_345, 12_345)
        case .writableDirectory: chmod(grants, 0o777)
        case .foreignDirectory: chown(grants, 12_345, 12_345)
        case .writableUsers: chmod(users, 0o666)
        case .linkedUsers:
            rename(users, users + ".real")
            symlink(users + ".real", users)
        case .tooLong: try write(String(repeating: "#\n", count: 40_000), to: "grants/mail.conf")
        case .notText:
            let descriptor = open(file, O_WRONLY)
            _ = Glibc.write(descriptor, [0xFF, 0xFE], 2)
            close(descriptor)
        case .tooMany: for number in 0..<64 { try write("", to: "grants/\(number).conf") }
        }
        let finished = try await check()
        #expect(finished.status == 1)
        #expect(finished.output.hasPrefix("error: "))
        #expect(finished.output.contains("\nhint: "))
    }
}
