import Foundation
import Glibc

/// A mount namespace with its own accounts and directories, held by a sleeping process.
///
/// This process stays outside: a multi-threaded process cannot change its mount namespace. Files of the namespace are
/// reached below ``root``, and programs run in it through ``wrapper``.
final class MachineNamespace: Sendable {
    /// Whether a namespace can be made here; its whole set-up and a program of another user in it are tried once, so
    /// that restrictions of a container skip tests instead of failing them.
    static let isPossible: Bool = {
        let programs = [
            "/usr/bin/unshare", "/usr/bin/nsenter", "/usr/bin/setpriv", "/usr/bin/chown", "/bin/sh",
        ]
        guard geteuid() == 0, programs.allSatisfy({ unsafe access($0, X_OK) == 0 }),
            let directory = try? TemporaryDirectory(mode: 0o711),
            (try? lay(in: directory, ["trial:x:64801:64801::/:/bin/sh"], ["trial:x:64801:"])) != nil
        else { return false }
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/unshare")
        process.arguments = ["--mount", "/bin/sh", "-euc", setUp + trial, "sh", directory.path]
        process.environment = ["PATH": "/usr/sbin:/usr/bin:/sbin:/bin"]
        let log = directory.appending("trial.log")
        let output = unsafe open(log, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
        guard output >= 0 else { return false }
        process.standardOutput = FileHandle.nullDevice
        process.standardError = FileHandle(fileDescriptor: output, closeOnDealloc: true)
        guard (try? process.run()) != nil else { return false }
        process.waitUntilExit()
        guard process.terminationStatus == 0 else {
            // Tells why tests are skipped.
            let text = (try? String(contentsOfFile: log, encoding: .utf8)) ?? ""
            FileHandle.standardError.write(Data("no machine in system mode here: \(text)\n".utf8))
            return false
        }
        return true
    }()

    /// nil where this process itself is in the namespace.
    private let holder: ChildProcess?

    /// The directory under which the namespace's files are visible from outside.
    var root: String { holder.map { "/proc/\($0.processID)/root" } ?? "" }

    /// The ID of a process in the namespace, which lives as long as the value.
    var process: Int32 { holder?.processID ?? getpid() }

    /// A command prefix that runs a command in the namespace, in the same process.
    var wrapper: [String] {
        holder.map { ["/usr/bin/nsenter", "--mount=/proc/\($0.processID)/ns/mnt", "--"] } ?? []
    }

    /// The namespace that this process has been started in.
    static let ofThisProcess = MachineNamespace()

    private init() { holder = nil }

    /// Creates a namespace.
    ///
    /// - Parameters:
    ///   - directory: where the set-up leaves its files.
    ///   - users: lines for passwd(5).
    ///   - groups: lines for group(5).
    ///   - commands: further shell commands for the set-up.
    /// - Throws: ``TestKitError`` with the shell's output.
    init(
        in directory: TemporaryDirectory,
        users: [String],
        groups: [String],
        commands: String
    ) async throws {
        try Self.lay(in: directory, users, groups)
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

    /// Writes the files that the set-up reads.
    private static func lay(in directory: TemporaryDirectory, _ users: [String], _ groups: [String]) throws {
        _ = try directory.makeDirectory("stage", mode: 0o755)
        _ = try directory.write(users.map { $0 + "\n" }.joined(), to: "users")
        _ = try directory.write(groups.map { $0 + "\n" }.joined(), to: "groups")
    }

    /// What tests use beyond the set-up: entering from outside, programs of users other than root, changes of file
    /// ownership, and sockets.
    private static let trial = """
        touch /var/lib/touchstone/file
        chown 64801:64801 /var/lib/touchstone/file
        chmod 2755 /var/lib/touchstone/file
        nsenter --mount=/proc/$$/ns/mnt -- setpriv --reuid=64801 --regid=64801 --groups=64805 --pdeathsig=KILL -- \
            sh -c 'test "$(id -u)" = 64801 && test -r /etc/passwd && ! test -w /etc/passwd'
        setpriv --bounding-set=-all,+sys_ptrace --inh-caps=-all -- \
            sh -c 'grep -q "^CapEff:.*0000000000080000" /proc/self/status'
        ls /proc/$$/root/run/touchstone

        """

    /// The shell code of the set-up.
    ///
    /// `layer` replaces a directory by a writable one with the same content; `/usr/bin` has too many entries for that
    /// and gets an overlay. The accounts are in a copy of `/etc`.
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
