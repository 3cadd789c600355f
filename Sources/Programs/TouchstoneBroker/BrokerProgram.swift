import CLinux
import Glibc
import KeychainModel
import SecretMemory

/// The broker's main program: first drops the privileges it does not need, then serves the socket passed to it.
package enum BrokerProgram {
    private static let usageStatus: CInt = 64
    private static let failure: CInt = 1
    private static let usage =
        "touchstone-broker [--account NAME] [--template-directory PATH] [--machine PID] [--all-users] [--version | --help]"
    private static let help = """
        Tells the daemons of Touchstone which programs their callers run, and digests enrolled fingers.

        Started by the service manager with its socket (touchstone-broker.socket).

        Usage: \(usage)

          --account NAME             who may ask (touchstone)
          --template-directory PATH  where fprintd keeps templates (/var/lib/fprint)
          --machine PID              whose mount and user namespaces are the machine's (1)
          --all-users                let each daemon ask about any user: for machines without systemd, whose
                                     units tell the daemons of users apart
          -V, --version              show the version
          -h, --help                 show this

        """

    private struct Options {
        var account = "touchstone"
        var templates = "/var/lib/fprint"
        var machine: Int32 = 1
        var servesAllUsers = false
    }

    /// Runs the broker; never returns.
    package static func main() -> Never {
        guard ProcessHardening.begin() else {
            end("the process cannot be protected (\(SystemError.name(of: errno)))", failure)
        }
        signal(SIGPIPE, SIG_IGN)
        let options = options()
        let socket = activationSocket()
        _ = clinux_clear_environment()
        // Only as root: another user has no capabilities to drop.
        guard ProcessUser.uid != 0 || clinux_keep_capability_ptrace() == 0 else {
            end("the capabilities cannot be dropped (\(SystemError.name(of: errno)))", failure)
        }
        guard let account = Owner.named(options.account) else {
            end("there is no user \(options.account)", failure)
        }
        guard let witness = Witness(machine: options.machine, templates: options.templates) else {
            end("there is no process \(options.machine)", failure)
        }
        var server = BrokerServer(
            listener: socket,
            account: account.uid,
            servesAllUsers: options.servesAllUsers,
            witness: witness
        )
        server.run()
        _exit(0)
    }

    private static func options() -> Options {
        var options = Options()
        var arguments = CommandLine.arguments.dropFirst()
        while let argument = arguments.popFirst() {
            switch argument {
            case "--version", "-V": tell(ProductVersion.text + "\n")
            case "--help", "-h": tell(help)
            case "--all-users":
                options.servesAllUsers = true
                continue
            default: break
            }
            guard let value = arguments.popFirst() else { end("usage: \(usage)", usageStatus) }
            switch argument {
            case "--account": options.account = value
            case "--template-directory" where value.hasPrefix("/"): options.templates = value
            case "--machine":
                guard let pid = Int32(value), pid > 0 else { end("usage: \(usage)", usageStatus) }
                options.machine = pid
            default: end("usage: \(usage)", usageStatus)
            }
        }
        return options
    }

    /// sd_listen_fds(3): descriptor 3, a listening `SOCK_SEQPACKET` socket.
    private static func activationSocket() -> CInt {
        func variable(_ name: String) -> String? {
            unsafe clinux_secure_getenv(name).map { unsafe String(cString: $0) }
        }
        func option(_ name: CInt) -> CInt? {
            var value: CInt = 0
            var length = socklen_t(MemoryLayout<CInt>.size)
            return unsafe getsockopt(3, SOL_SOCKET, name, &value, &length) == 0 ? value : nil
        }
        guard variable("LISTEN_PID").flatMap({ pid_t($0) }) == getpid(), variable("LISTEN_FDS") == "1",
            option(SO_ACCEPTCONN) == 1, option(SO_TYPE) == CInt(SOCK_SEQPACKET.rawValue),
            option(SO_DOMAIN) == AF_UNIX,
            fcntl(3, F_SETFD, FD_CLOEXEC) == 0, fcntl(3, F_SETFL, O_NONBLOCK) == 0
        else { end("no socket was passed: start touchstone-broker.socket", failure) }
        return 3
    }

    private static func tell(_ text: String) -> Never {
        write(text, to: 1)
        _exit(0)
    }

    private static func end(_ text: String, _ status: CInt) -> Never {
        write("error: \(text)\n", to: 2)
        _exit(status)
    }

    private static func write(_ text: String, to descriptor: CInt) {
        let octets = Array(text.utf8)
        _ = unsafe Glibc.write(descriptor, octets, octets.count)
    }
}
