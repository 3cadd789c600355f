import Foundation
import Glibc
import SystemMigration
import Testing
import TouchstoneTesting

@Suite("Parts of system mode")
struct SystemPartsTests {
    private static let rule = "usr/share/polkit-1/rules.d/50-touchstone.rules"
    private let home: TemporaryDirectory
    private var own: UInt32 { geteuid() }

    /// A machine's files below a directory, as the package installs them; "root" is this process's user.
    init() throws {
        home = try TemporaryDirectory()
        for directory in [
            "etc", "proc/sys/kernel/yama", "usr/libexec/touchstone", "usr/lib/systemd/system",
            "usr/share/polkit-1/rules.d", "var/lib/touchstone", "run/touchstone/1000",
        ] {
            try FileManager.default.createDirectory(
                atPath: home.appending(directory),
                withIntermediateDirectories: true,
                attributes: [.posixPermissions: 0o755]
            )
        }
        // Users whose primary group is none of the groups.
        let (first, second) = (getegid() &+ 1, getegid() &+ 2)
        _ = try home.write(
            "anna:x:1000:\(first)::/h:/s\ntouchstone:x:990:\(second)::/n:/n\n",
            to: "etc/passwd"
        )
        try setGroups("")
        _ = try home.write("1\n", to: "proc/sys/kernel/yama/ptrace_scope")
        try FileManager.default.copyItem(
            atPath: UnitSandbox.shippedUnits + "/50-touchstone.rules",
            toPath: home.appending(Self.rule)
        )
        for unit in [
            "touchstoned@.service", "touchstoned@.socket", "touchstone-broker.service",
            "touchstone-broker.socket",
        ] {
            _ = try home.write("", to: "usr/lib/systemd/system/" + unit)
        }
        for program in ["touchstoned", "touchstone-broker", "touchstone-agent"] {
            #expect(chmod(try home.write("", to: "usr/libexec/touchstone/" + program), 0o755) == 0)
        }
        #expect(chmod(home.appending("usr/libexec/touchstone/touchstone-agent"), 0o2755) == 0)
    }

    private func setGroups(_ members: String) throws {
        _ = try home.write(
            "tss:x:70:touchstone\ntouchstone-agent:x:\(getegid()):\(members)\ntouchstone-door:x:992:\n",
            to: "etc/group"
        )
    }

    private var troubles: [String] {
        SystemParts(root: home.path, administrator: own).findings(of: 1000).filter { $0.verdict != .well }
            .map { "\($0.part): \($0.text)" }
    }

    @Test("an installation as the package makes it has no faults")
    func well() { #expect(troubles.isEmpty, "\(troubles)") }

    @Test("faults in programs, directories, groups and kernel settings are reported")
    func wrong() throws {
        try setGroups("anna")
        #expect(troubles.contains { $0.hasPrefix("groups: anna in the group touchstone-agent can pass") })
        try setGroups("")
        let agent = home.appending("usr/libexec/touchstone/touchstone-agent")
        #expect(chmod(agent, 0o755) == 0)
        #expect(troubles.contains { $0.hasPrefix("touchstone-agent: ") && $0.contains("mode 755") })
        #expect(chmod(agent, 0o2755) == 0 && chmod(home.appending("run/touchstone/1000"), 0o777) == 0)
        #expect(troubles == ["directory: others than root can write to /run/touchstone/1000"])
        #expect(chmod(home.appending("run/touchstone/1000"), 0o755) == 0)
        _ = try home.write("0\n", to: "proc/sys/kernel/yama/ptrace_scope")
        #expect(troubles.count == 1 && troubles[0].hasPrefix("tracing: "))
        _ = try home.write("1\n", to: "proc/sys/kernel/yama/ptrace_scope")
        try FileManager.default.removeItem(
            atPath: home.appending("usr/lib/systemd/system/touchstoned@.socket")
        )
        #expect(troubles == ["units: not in /usr/lib/systemd/system: touchstoned@.socket"])
    }

    /// What is known of polkit's rule.
    enum Rule: CaseIterable, Sendable {
        case shipped, absent, withoutDirectory, unreadable, forAnotherUser, empty
    }

    @Test(
        "a rule of polkit's that cannot be read is not said to be missing, and another text is no rule",
        arguments: Rule.allCases
    )
    func polkitRule(state: Rule) throws {
        let path = home.appending(Self.rule)
        let directory = home.appending("usr/share/polkit-1/rules.d")
        switch state {
        case .shipped: break
        case .absent: try FileManager.default.removeItem(atPath: path)
        case .withoutDirectory: try FileManager.default.removeItem(atPath: directory)
        case .unreadable:
            // As a directory without the right to search it, this hides what is there; root is kept out too.
            try FileManager.default.removeItem(atPath: directory)
            #expect(symlink("rules.d", directory) == 0)
        case .forAnotherUser:
            let text = try String(contentsOfFile: path, encoding: .utf8)
            _ = try home.write(text.replacing("\"touchstone\"", with: "\"anna\""), to: Self.rule)
        case .empty: _ = try home.write("", to: Self.rule)
        }
        let found = SystemParts(root: home.path, administrator: own).findings(of: 1000).filter {
            $0.part == "polkit rule"
        }
        let finding = try #require(found.first)
        #expect(found.count == 1)
        switch state {
        case .shipped: #expect(finding.verdict == .well && finding.text == "/" + Self.rule)
        case .absent, .withoutDirectory:
            #expect(finding.verdict == .lacking && finding.text.contains("is not there"), "\(finding)")
        case .unreadable:
            #expect(finding.verdict == .well && !finding.text.contains("is not there"), "\(finding)")
            #expect(finding.text.contains("symbolic links; only root and polkit can tell"), "\(finding)")
        case .forAnotherUser, .empty:
            #expect(
                finding.verdict == .lacking && finding.text.contains("does not let touchstone verify"),
                "\(finding)"
            )
        }
    }
}
