import Foundation
import Glibc

/// A mount namespace with accounts and directories of its own, held by a process that sleeps in it.
///
/// This process stays outside: one with many threads cannot change its namespace. What lies in it is reached below
/// ``root``, and programs are run in it by ``wrapper``.
final class MachineNamespace: Sendable {
    /// Whether there can be one: its whole set-up is tried once, and a program of another user in it, so that what a
    /// container forbids skips tests and fails none.
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
            // Who wonders why tests are skipped finds it.
            let text = (try? String(contentsOfFile: log, encoding: .utf8)) ?? ""
            FileHandle.standardError.write(Data("no machine in system mode here: \(text)\n".utf8))
            return false
        }
        return true
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

    /// Writes down what the set-up reads.
    private static func lay(in directory: TemporaryDirectory, _ users: [String], _ groups: [String]) throws {
        _ = try directory.makeDirectory("stage", mode: 0o755)
        _ = try directory.write(users.map { $0 + "\n" }.joined(), to: "users")
        _ = try directory.write(groups.map { $0 + "\n" }.joined(), to: "groups")
    }

    /// What a machine does beyond its set-up: it is entered from outside, users other than root run programs in it, files are
    /// given to them, and sockets are made.
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
