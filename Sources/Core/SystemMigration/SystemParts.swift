import Glibc
import KeychainModel

/// Checks the parts of system mode on this machine: accounts, groups, programs, directories, units and rules.
package struct SystemParts {
    /// The result of checking one part.
    package struct Finding: Sendable, Equatable {
        /// The verdict: as it should be, an optional part is missing, or it must be corrected.
        package enum Verdict: Sendable { case well, lacking, wrong }

        package let part: String
        package let verdict: Verdict
        package let text: String
        /// What to do; nil if the part is correct.
        package let remedy: String?
    }

    /// The account that keeps keychains in system mode.
    package static let account = "touchstone"
    /// Groups used only by set-group-id programs: a member of one can pass for such a program.
    static let programGroups = ["touchstone-agent", "touchstone-door"]
    private static let agentGroup = "touchstone-agent"

    /// A prefix of every path, empty except in tests.
    let root: String
    /// The required owner of programs, rules and directories.
    let administrator: UInt32
    let database: UserDatabase

    /// Checks the files below `root`; tests use a directory of their own.
    package init(root: String = "", administrator: UInt32 = 0) {
        self.root = root
        self.administrator = administrator
        database = UserDatabase(users: root + "/etc/passwd", groups: root + "/etc/group")
    }

    /// All findings about a user's system mode.
    package func findings(of uid: UInt32) -> [Finding] {
        [accountFinding(), groupsFinding()] + programFindings() + directoryFindings(uid)
            + [ruleFinding(), unitsFinding(), tracingFinding()]
    }

    private func well(_ part: String, _ text: String) -> Finding {
        Finding(part: part, verdict: .well, text: text, remedy: nil)
    }

    private func wrong(_ part: String, _ text: String, _ remedy: String) -> Finding {
        Finding(part: part, verdict: .wrong, text: text, remedy: remedy)
    }

    private func accountFinding() -> Finding {
        let part = "account"
        guard let user = database.user(Self.account) else {
            return wrong(part, "there is no user \(Self.account)", "systemd-sysusers")
        }
        guard user.uid != 0 else {
            return wrong(part, "\(Self.account) is another name of root", "give it a number of its own")
        }
        guard exists("/dev/tpmrm0") else { return well(part, "\(user.name), user \(user.uid)") }
        guard let group = database.group("tss"), database.members(of: group).contains(Self.account) else {
            return Finding(
                part: part,
                verdict: .lacking,
                text: "\(Self.account) is not in the group tss, so it cannot use the TPM",
                remedy: "systemd-sysusers; then restart the daemon"
            )
        }
        return well(part, "\(user.name), user \(user.uid), in the group tss")
    }

    private func groupsFinding() -> Finding {
        let part = "groups"
        for name in Self.programGroups {
            guard let group = database.group(name) else {
                return wrong(part, "there is no group \(name)", "systemd-sysusers")
            }
            let members = database.members(of: group)
            guard members.isEmpty else {
                return wrong(
                    part,
                    "\(members.joined(separator: ", ")) in the group \(name) can pass for one of Touchstone's programs",
                    "gpasswd --delete \(members[0]) \(name)"
                )
            }
        }
        if let group = database.group("tss") {
            let others = database.members(of: group).filter { $0 != Self.account && $0 != "tss" }
            guard others.isEmpty else {
                return Finding(
                    part: part,
                    verdict: .lacking,
                    text:
                        "\(others.joined(separator: ", ")) in the group tss can use the TPM past the daemon",
                    remedy: "gpasswd --delete \(others[0]) tss, unless it is needed elsewhere"
                )
            }
        }
        return well(part, Self.programGroups.joined(separator: " and ") + " have no members")
    }

    private func programFindings() -> [Finding] {
        let directory = "/usr/libexec/touchstone"
        return ["touchstoned", "touchstone-broker", "touchstone-agent"].map { name in
            let path = "\(directory)/\(name)"
            guard let status = status(path) else {
                return wrong(name, "\(path) is not there", "install the package anew")
            }
            for place in [path, directory] {
                guard let status = self.status(place), status.st_uid == administrator,
                    status.st_mode & 0o022 == 0
                else {
                    return wrong(
                        name,
                        "others than root can change \(place)",
                        "chown root \(place); chmod go-w \(place)"
                    )
                }
            }
            guard name == "touchstone-agent" else { return well(name, path) }
            let mode = String(status.st_mode & 0o7777, radix: 8)
            guard mode == "2755", let group = database.group(Self.agentGroup), status.st_gid == group.gid
            else {
                return wrong(
                    name,
                    "\(path) has mode \(mode) and group \(status.st_gid): the daemon does not believe it",
                    "chown root:\(Self.agentGroup) \(path); chmod 2755 \(path)"
                )
            }
            var system = statvfs()
            // A test's directory may be on any file system.
            if root.isEmpty, unsafe statvfs(path, &system) == 0, system.f_flag & 2 != 0 {
                return wrong(
                    name,
                    "\(path) is on a file system mounted with nosuid",
                    "mount it without nosuid"
                )
            }
            return well(name, "\(path), mode 2755, group \(Self.agentGroup)")
        }
    }

    private func directoryFindings(_ uid: UInt32) -> [Finding] {
        var findings: [Finding] = []
        for path in ["/var/lib/touchstone", "/run/touchstone", "/run/touchstone/\(uid)"] {
            guard let status = status(path) else { continue }
            let isSafe =
                status.st_mode & S_IFMT == S_IFDIR && status.st_uid == administrator
                && status.st_mode & 0o022 == 0
            findings.append(
                isSafe
                    ? well("directory", path)
                    : wrong(
                        "directory",
                        "others than root can write to \(path)",
                        "chown root \(path); chmod 755 \(path)"
                    )
            )
        }
        let kept = "/var/lib/touchstone/\(uid)"
        if let status = status(kept) {
            let keeper = database.user(Self.account)?.uid
            findings.append(
                status.st_mode & 0o7777 == 0o700 && status.st_uid == keeper
                    ? well("directory", kept)
                    : wrong(
                        "directory",
                        "\(kept) is not \(Self.account)'s alone",
                        "chown \(Self.account): \(kept); chmod 700 \(kept)"
                    )
            )
        }
        return findings
    }

    private func ruleFinding() -> Finding {
        let (part, remedy) = ("polkit rule", "install the package anew")
        let path = "/usr/share/polkit-1/rules.d/50-touchstone.rules"
        do throws(UnreadableFile) {
            let text = try SmallFile.text(root + path, atMost: 1 << 16)
            let isOurs =
                text.contains("\"\(Self.account)\"") && text.contains("net.reactivated.fprint.device.verify")
            guard !isOurs else { return well(part, path) }
            return Finding(
                part: part,
                verdict: .lacking,
                text: "\(path) does not let \(Self.account) verify fingers: none is read in system mode",
                remedy: remedy
            )
        } catch {
            // Some distributions let only polkit read its rules, which says nothing about what is there.
            guard error.isMissing || error.number == ENOTDIR else {
                return well(part, "\(error); only root and polkit can tell: sudo touchstone system status")
            }
            return Finding(
                part: part,
                verdict: .lacking,
                text: "\(path) is not there: no finger is read in system mode",
                remedy: remedy
            )
        }
    }

    private func unitsFinding() -> Finding {
        let directory = "/usr/lib/systemd/system"
        let units = [
            "touchstoned@.service", "touchstoned@.socket", "touchstone-broker.service",
            "touchstone-broker.socket",
        ]
        let missing = units.filter { !exists("\(directory)/\($0)") }
        guard missing.isEmpty else {
            return wrong(
                "units",
                "not in \(directory): \(missing.joined(separator: ", "))",
                "install the package anew"
            )
        }
        return well("units", directory)
    }

    /// Checks Yama's ptrace(2) scope: the program that draws a prompt is an ordinary process of the user.
    private func tracingFinding() -> Finding {
        let part = "tracing"
        let text: String
        do throws(UnreadableFile) {
            text = try SmallFile.text(root + "/proc/sys/kernel/yama/ptrace_scope", atMost: 64)
        } catch {
            // Without Yama there is no such setting.
            guard error.isMissing else {
                return Finding(
                    part: part,
                    verdict: .lacking,
                    text: error.description,
                    remedy: "look at it as root"
                )
            }
            text = ""
        }
        guard let scope = Int(text.filter(\.isNumber)), scope >= 1 else {
            return Finding(
                part: part,
                verdict: .lacking,
                text: "programs of the user can trace the one that draws a prompt, and read the passcode",
                remedy: "sysctl kernel.yama.ptrace_scope=1, and the same in /etc/sysctl.d"
            )
        }
        return well(part, "kernel.yama.ptrace_scope is \(scope)")
    }

    private func status(_ path: String) -> stat? {
        var status = stat()
        return unsafe lstat(root + path, &status) == 0 ? status : nil
    }

    private func exists(_ path: String) -> Bool { status(path) != nil }
}
