import Glibc
import KeychainModel
import SecretMemory

/// Checks that need no daemon: memory, directories, system services.
enum SystemChecks {
    /// The default limit of an ordinary user since Linux 5.16, in bytes.
    private static let usualMemoryLimit: UInt64 = 8 << 20

    /// Whether memory for secrets can be locked.
    static func lockedMemory() -> Finding {
        do throws(SecretMemoryError) {
            try LockedPages.prepare()
        } catch {
            return .fail(
                "locked memory",
                "no page can be locked (\(SystemError.name(of: error.errno)))",
                "raise the limit: LimitMEMLOCK= in systemd, or memlock in /etc/security/limits.conf"
            )
        }
        guard let limit = memoryLimit() else { return .ok("locked memory", "pages can be locked") }
        guard limit < usualMemoryLimit else {
            return .ok("locked memory", limit == .max ? "no limit" : "\(limit >> 10) KiB may be locked")
        }
        return .warn(
            "locked memory",
            "only \(limit >> 10) KiB may be locked; large secrets may not fit",
            "raise the limit to \(usualMemoryLimit >> 10) KiB"
        )
    }

    /// Whether only this user can access a directory.
    static func directory(_ part: String, _ path: String) -> Finding {
        var status = stat()
        guard unsafe lstat(path, &status) == 0 else {
            let reason = SystemError.name(of: errno)
            return .fail(part, "\(path): \(reason)", "start the daemon: touchstone status")
        }
        guard status.st_mode & S_IFMT == S_IFDIR else {
            return .fail(part, "\(path) is not a directory", "move it away")
        }
        guard status.st_uid == ProcessUser.uid else {
            return .fail(part, "\(path) belongs to user \(status.st_uid)", "move it away")
        }
        let mode = status.st_mode & 0o777
        guard mode == 0o700 else {
            return .fail(
                part,
                "\(path) has mode \(String(mode, radix: 8))",
                "chmod 700 \(ShellWord.escaped(path))"
            )
        }
        return .ok(part, path)
    }

    /// Which variable or default determines the socket's directory.
    static func runtimePlace(_ layout: Layout, variable: (String) -> String?) -> Finding {
        let part = "runtime directory"
        if let fault = layout.runtimeFault() {
            return .fail(
                part,
                fault,
                "unset XDG_RUNTIME_DIR, or take this user's environment: sudo -i -u USER, su -"
            )
        }
        if variable("TOUCHSTONE_HOME")?.hasPrefix("/") == true { return .ok(part, "in TOUCHSTONE_HOME") }
        if let path = variable("XDG_RUNTIME_DIR"), path.hasPrefix("/") {
            return .ok(part, "\(path), from XDG_RUNTIME_DIR")
        }
        let path = UserRuntimeDirectory.path()
        do throws(UserRuntimeDirectory.Fault) {
            try UserRuntimeDirectory.check(path)
            return .ok(part, "\(path); XDG_RUNTIME_DIR is not set")
        } catch .missing {
            return .ok(
                part,
                "none: XDG_RUNTIME_DIR is not set and \(path) is not there; the socket is beside the store"
            )
        } catch {
            return .warn(
                part,
                "\(error.sentence(about: path)), so it is not used; the socket is beside the store",
                "log in anew, or set XDG_RUNTIME_DIR to a directory of yours with mode 700"
            )
        }
    }

    /// Whether no other user can change the daemon's configuration.
    ///
    /// - Parameters:
    ///   - path: the file.
    ///   - isSystem: whether it is that of system mode, which only root may own.
    /// - Returns: the finding.
    static func configuration(_ path: String, isSystem: Bool = false) -> Finding {
        var status = stat()
        guard unsafe stat(path, &status) == 0 else {
            if errno == ENOENT { return .ok("configuration", "none; the defaults hold") }
            return .fail(
                "configuration",
                "\(path): \(SystemError.name(of: errno))",
                "check its directory"
            )
        }
        let isOwned = status.st_uid == 0 || !isSystem && status.st_uid == ProcessUser.uid
        guard isOwned, status.st_mode & 0o022 == 0 else {
            return .fail(
                "configuration",
                "\(path) can be changed by others",
                isSystem
                    ? "as root: chown root \(path); chmod go-w \(path)"
                    : "chown it to yourself; chmod go-w \(ShellWord.escaped(path))"
            )
        }
        return .ok("configuration", path)
    }

    /// Whether prompts can be shown here.
    static func promptPlace(_ origin: PromptOrigin) -> Finding {
        let part = "place for prompts"
        if let fault = PlaceFault(of: origin) {
            return .warn(part, "cannot be shown here: \(fault.text)", fault.remedyOrUnlock)
        }
        let display = (origin.waylandDisplay ?? origin.display).map { "display \($0)" }
        // The display is used if the terminal is another user's.
        let terminal = PlaceFault(of: PromptOrigin(terminal: origin.terminal)) == nil ? origin.terminal : nil
        return .ok(part, terminal ?? display ?? "found")
    }

    /// Whether the system bus, which fprintd needs, can be reached.
    static func systemBus() -> Finding {
        let path = "/run/dbus/system_bus_socket"
        guard unsafe access(path, R_OK | W_OK) == 0 else {
            return .warn(
                "system bus",
                "\(path): \(SystemError.name(of: errno))",
                "start dbus; fingers need it"
            )
        }
        return .ok("system bus", path)
    }

    /// Whether this user may use the machine's TPM; nil if there is none.
    static func tpm() -> Finding? {
        let path = "/dev/tpmrm0"
        var status = stat()
        guard unsafe stat(path, &status) == 0 else { return nil }
        guard unsafe access(path, R_OK | W_OK) != 0 else { return .ok("tpm", path) }
        let group = unsafe getgrgid(status.st_gid).map { unsafe String(cString: $0.pointee.gr_name) }
        let user = Owner.ofThisProcess().name ?? "USER"
        return .warn(
            "tpm",
            "\(path) is there, and this user may not use it",
            "sudo usermod -aG \(ShellWord.escaped(group ?? "tss")) \(ShellWord.escaped(user)), log in anew, then: touchstone migrate"
        )
    }

    /// Whether fprintd is installed.
    static func fprintd() -> Finding {
        let service = "/usr/share/dbus-1/system-services/net.reactivated.Fprint.service"
        guard unsafe access(service, F_OK) == 0 else {
            let command = PackageManager.command(for: .fprintd)
            return .ok("fprintd", "not installed; for fingers: \(command)")
        }
        return .ok("fprintd", "installed")
    }

    /// The soft limit of `RLIMIT_MEMLOCK`, from proc(5); `max` for no limit.
    private static func memoryLimit() -> UInt64? {
        let title = "Max locked memory"
        guard let lines = try? SmallFile.text("/proc/self/limits", atMost: 1 << 14).split(separator: "\n"),
            let line = lines.first(where: { $0.hasPrefix(title) }),
            let soft = line.dropFirst(title.count).split(separator: " ").first
        else { return nil }
        return soft == "unlimited" ? .max : UInt64(soft)
    }
}
