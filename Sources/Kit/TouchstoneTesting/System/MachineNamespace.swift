import Foundation
import Glibc

/// A mount namespace with accounts and directories of its own, held by a process that sleeps in it.
///
/// This process stays outside: one with many threads cannot change its namespace. What lies in it is reached below
/// ``root``, and programs are run in it by ``wrapper``.
final class MachineNamespace: Sendable {
    /// Whether there can be one: what a container may forbid is tried, once.
    static let isPossible: Bool = {
        let programs = ["/usr/bin/unshare", "/usr/bin/nsenter", "/usr/bin/setpriv", "/bin/sh"]
        guard geteuid() == 0, programs.allSatisfy({ unsafe access($0, X_OK) == 0 }) else { return false }
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/unshare")
        process.arguments = [
            "--mount", "/bin/sh", "-c",
            """
            mount -t tmpfs tmpfs /run && mkdir /run/a /run/b /run/c /run/d && mount --bind /run/a /run/b \
                && mount -t overlay -o lowerdir=/usr/bin,upperdir=/run/c,workdir=/run/d overlay /usr/bin
            """,
        ]
        process.standardError = FileHandle.nullDevice
        guard (try? process.run()) != nil else { return false }
        process.waitUntilExit()
        return process.terminationStatus == 0
    }()

    private let holder: ChildProcess

    /// The directory under which the namespace's files are found from outside.
    var root: String { "/proc/\(holder.processID)/root" }

    /// The process that holds the namespace.
    var process: Int32 { holder.processID }

    /// Runs a command in the namespace, as the same process.
    var wrapper: [String] { ["/usr/bin/nsenter", "--mount=/proc/\(holder.processID)/ns/mnt", "--"] }

    /// Makes one.
    ///
    /// - Parameters:
    ///   - directory: for what the set-up leaves behind.
    ///   - users: lines for passwd(5).
    ///   - groups: lines for group(5).
    ///   - commands: more to do in it at its start, for the shell.
    /// - Throws: ``TestKitError`` with what the shell said.
    init(
        in directory: TemporaryDirectory,
        users: [String],
        groups: [String],
        commands: String
    ) async throws {
        _ = try directory.makeDirectory("stage", mode: 0o755)
        _ = try directory.write(users.joined(separator: "\n") + "\n", to: "users")
        _ = try directory.write(groups.joined(separator: "\n") + "\n", to: "groups")
        let log = directory.appending("namespace.log")
        let holder = try await ChildProcess.start(
            "/usr/bin/unshare",
            ["--mount", "/bin/sh", "-euc", Self.setUp + commands + Self.end, "sh", directory.path],
            environment: ["PATH": "/usr/sbin:/usr/bin:/sbin:/bin"],
            log: log
        )
        try await Deadline.wait(for: "the machine's namespace") { () -> Bool? in
            if unsafe access(directory.appending("ready"), F_OK) == 0 { return true }
            guard holder.isRunning else {
                let text = (try? String(contentsOfFile: log, encoding: .utf8)) ?? ""
                throw TestKitError.unexpected("the namespace could not be made: \(text)")
            }
            return nil
        }
        self.holder = holder
    }

    /// `layer` puts a writable directory in the place of one, with all that is in it, and an overlay does for `/usr/bin`, in
    /// which there is too much for it; the accounts are those of a copy
    /// of `/etc`.
    private static let setUp = """
        umask 022
        layer() {
            mount -t tmpfs -o mode=0755 tmpfs "$1/stage"
            for entry in "$2"/* "$2"/.[!.]*; do
                name=${entry##*/}
                if [ -L "$entry" ]; then cp -P "$entry" "$1/stage/$name"
                elif [ -d "$entry" ]; then mkdir "$1/stage/$name"; mount --rbind "$entry" "$1/stage/$name"
                elif [ -e "$entry" ]; then : >"$1/stage/$name"; mount --bind "$entry" "$1/stage/$name"
                fi
            done
            mount --move "$1/stage" "$2"
        }
        own() {
            [ -d "$1" ] || mkdir "$1"
            mount -t tmpfs -o mode=0755 tmpfs "$1"
        }
        mount -t tmpfs -o mode=0755 tmpfs "$1/stage"
        # What is exchanged meanwhile is told to be missing, and not needed.
        cp -a /etc/. "$1/stage" || true
        mount --move "$1/stage" /etc
        for file in passwd group; do
            [ $file = passwd ] && new=$1/users || new=$1/groups
            names=$(cut -d: -f1 "$new" | paste -sd '|')
            grep -vE "^($names):" /etc/$file >/etc/$file.new || true
            cat "$new" >>/etc/$file.new
            mv /etc/$file.new /etc/$file
        done
        rm -rf /etc/touchstone
        mkdir /etc/touchstone
        mount -t tmpfs -o mode=0755 tmpfs /run
        mkdir /run/touchstone /run/dbus
        layer "$1" /var/lib
        own /var/lib/touchstone
        mkdir /run/bin /run/bin/upper /run/bin/work
        mount -t overlay -o lowerdir=/usr/bin,upperdir=/run/bin/upper,workdir=/run/bin/work overlay /usr/bin
        layer "$1" /usr/libexec
        own /usr/libexec/touchstone

        """

    private static let end = """

        : >"$1/ready"
        exec sleep infinity
        """
}
