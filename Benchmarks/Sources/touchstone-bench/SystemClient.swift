import Glibc
import KeychainClient
import KeychainModel

/// This program run as a user, on the machine of ``SystemRows``: prints nanoseconds, one number per line.
enum SystemClient {
    /// The option that selects this mode.
    static let option = "--system-client"

    /// Runs the given command, and exits.
    static func run(_ arguments: [String]) -> Never {
        do {
            switch arguments.first {
            case "first": try firstReply()
            case "execute" where arguments.count > 1: try execute(Array(arguments.dropFirst()))
            case "lookups" where arguments.count == 4: try lookups(arguments)
            case "tail" where arguments.count == 3: try tail(arguments)
            case "flood": try flood()
            default: throw BenchError("\(arguments) is nothing that a client does")
            }
            exit(0)
        } catch {
            print("\(error)")
            exit(1)
        }
    }

    /// Prints the time of the daemon's first reply.
    private static func firstReply() throws {
        _ = try RemoteKeychain(daemon: .none).status()
        print(Stopwatch.now())
    }

    /// Executes a program with standard input as its listening socket, as in sd_listen_fds(3); prints the start time.
    private static func execute(_ command: [String]) throws {
        let nothing = unsafe open("/dev/null", O_RDONLY | O_CLOEXEC)
        guard nothing >= 0, dup2(0, 3) == 3, dup2(nothing, 0) == 0 else { throw BenchError("errno \(errno)") }
        unsafe setenv("LISTEN_FDS", "1", 1)
        unsafe setenv("LISTEN_PID", "\(getpid())", 1)
        var argv = unsafe command.map { unsafe strdup($0) } + [nil]
        print(Stopwatch.now())
        fflush(nil)
        unsafe execv(command[0], &argv)
        throw BenchError("\(command[0]): errno \(errno)")
    }

    /// Looks up existing items, and prints the 99th percentile.
    private static func tail(_ arguments: [String]) throws {
        guard let count = Int(arguments[1]), let times = Int(arguments[2]) else {
            throw BenchError("\(arguments)")
        }
        let prompt = PromptFields(origin: PromptOrigin(characterType: "C.UTF-8"), reason: "measure")
        let keychain = RemoteKeychain(daemon: .none)
        var waits: [Nanoseconds] = []
        for run in 0..<times {
            waits.append(
                try Stopwatch.time {
                    let found = try keychain.copy(BenchItem.copy((run &* 7919) % count, prompt: prompt))
                    guard found.count == 1 else { throw BenchError("no item") }
                }
            )
        }
        print(waits.p99)
    }

    /// Sends as many requests as 16 threads with a connection each can, until it is killed.
    private static func flood() throws {
        let prompt = PromptFields(origin: PromptOrigin(characterType: "C.UTF-8"), reason: "measure")
        // An item to look up.
        _ = try RemoteKeychain(daemon: .none).add(BenchItem.add(0, prompt: prompt))
        print("flooding")
        fflush(nil)
        _ = try Threads.run(16) { _ in
            let keychain = RemoteKeychain(daemon: .none)
            while true { _ = try keychain.copy(BenchItem.copy(0, prompt: prompt)) }
        }
    }

    /// Fills both keychains, and looks up items alternately; prints the median in system mode, then in per-user mode.
    private static func lookups(_ arguments: [String]) throws {
        let home = arguments[1]
        guard let layout = Layout(variable: { $0 == "TOUCHSTONE_HOME" ? home : nil }),
            let count = Int(arguments[2]), let times = Int(arguments[3])
        else { throw BenchError("\(arguments)") }
        let prompt = PromptFields(origin: PromptOrigin(characterType: "C.UTF-8"), reason: "measure")
        let keychains = [RemoteKeychain(daemon: .none), RemoteKeychain(layout: layout, daemon: .none)]
        for keychain in keychains {
            for number in 0..<count { _ = try keychain.add(BenchItem.add(number, prompt: prompt)) }
        }
        let operations = keychains.map { keychain in
            { (run: Int) in
                let found = try keychain.copy(BenchItem.copy((run &* 7919) % count, prompt: prompt))
                guard found.count == 1 else { throw BenchError("no item") }
            }
        }
        for operation in operations { for run in 0..<50 { try operation(run) } }
        for median in try Stopwatch.medians(of: times, inTurnsOf: 50, operations) { print(median) }
    }
}
