import Glibc
import KeychainModel
import TouchstoneTesting

@testable import PinentryDriver

/// A shell with job control on its own terminal, and its jobs.
final class Jobs {
    let terminal: PseudoTerminal
    private let directory: TemporaryDirectory
    private let program: String
    private let shell: ChildProcess
    private var started: [Int32] = []
    private var count = 0

    /// Starts bash as the terminal's session leader.
    ///
    /// - Parameter login: the user whose login begins with it, as root may say once for a process; nil to stay in this
    ///   process's login, if it has one.
    /// - Throws: what the shell and the terminal throw.
    init(login: UInt32? = nil) async throws {
        let login = login.map { "echo \($0) > /proc/self/loginuid && " } ?? ""
        terminal = try PseudoTerminal()
        directory = try TemporaryDirectory()
        program = try directory.write(
            "#!/bin/sh\necho $$ > \"$1.new\"\nmv \"$1.new\" \"$1\"\nexec sleep 600\n",
            to: "job"
        )
        shell = try await ChildProcess.start(
            "/bin/sh",
            ["-c", "\(login)exec 0<>\(terminal.name) 1>&0 2>&0; exec /bin/bash --norc --noprofile -i"],
            environment: ["TERM": "dumb", "PATH": "/usr/bin:/bin", "PS1": "ready> ", "HISTFILE": ""]
        )
        try await terminal.wait(for: "ready>")
    }

    deinit {
        for process in started { kill(process, SIGKILL) }
    }

    /// Types a command line in which `JOB` stands for a program that reports its process ID and waits.
    ///
    /// - Returns: The program.
    func run(_ line: String) async throws -> PromptClient {
        count += 1
        let file = directory.appending("pid\(count)")
        terminal.press(.text(line.replacing("JOB", with: "sh \(program) \(file)")), .enter)
        return try await client(in: file)
    }

    /// Starts a shell on another terminal from this one, as a multiplexer does for a pane, and a program in it.
    ///
    /// - Parameter pane: the other terminal, which stays open as long as the shell runs.
    /// - Returns: the program.
    /// - Throws: what waiting for it throws.
    func run(in pane: PseudoTerminal) async throws -> PromptClient {
        count += 1
        let file = directory.appending("pid\(count)")
        let shell = "exec 0<>\(pane.name) 1>&0 2>&0; sh \(program) \(file)"
        terminal.press(.text("setsid sh -c '\(shell)' &"), .enter)
        return try await client(in: file)
    }

    /// Waits for a program that writes its process ID to a file.
    func client(in file: String) async throws -> PromptClient {
        let client: PromptClient = try await Deadline.wait(for: "the job") {
            guard let text = contents(of: file), let number = Int32(text.prefix { $0 != "\n" }),
                let stat = ProcessStat(of: number)
            else { return nil }
            return PromptClient(process: number, start: stat.start)
        }
        started.append(client.process)
        return client
    }

    /// Starts a program of the session that joins other process groups, by a command line in which `JOB` stands for it.
    func runJoiner(_ line: String) async throws -> Joiner {
        let script = try directory.write(Joiner.script, to: "joiner")
        count += 1
        let file = directory.appending("pid\(count)")
        terminal.press(.text(line.replacing("JOB", with: "perl \(script) \(file)")), .enter)
        let client = try await client(in: file)
        return Joiner(client: client, file: file)
    }

    /// Waits for a standing: a shell changes the terminal's foreground group with a delay.
    func wait(for client: PromptClient, until isWanted: (TerminalStanding) -> Bool) async throws {
        try await Deadline.wait(for: "the standing of \(client)") {
            isWanted(standing(of: client)) ? true : nil
        }
    }

    /// The client's standing on this terminal, or on another one.
    func standing(
        of client: PromptClient,
        to other: PseudoTerminal? = nil,
        trust: TerminalTrust = .terminal,
        owner: UInt32 = ProcessUser.uid
    ) -> TerminalStanding {
        let descriptor = unsafe open((other ?? terminal).name, O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC)
        defer { close(descriptor) }
        let isEditing = other == nil && !terminal.isCanonical
        return TerminalStanding(
            of: client,
            to: descriptor,
            trust: trust,
            owner: owner,
            isEditing: isEditing,
            daemon: 0
        )
    }
}

/// A program that joins a process group of its session when it is told.
struct Joiner {
    /// Reports its process ID, then joins each group that is written to the file `.group`, and makes a sibling of its own
    /// when there is a file `.clone`.
    static let script = """
        my $file = shift;
        my $clone = `uname -m` eq "x86_64\\n" ? 56 : 220;
        sub put { open(my $f, '>', "$_[0].new"); print $f $_[1]; close($f); rename("$_[0].new", $_[0]); }
        put($file, readlink("/proc/self") . "\\n");
        for (1..60000) {
            if (open(my $f, '<', "$file.group")) {
                my $group = <$f>;
                unlink("$file.group");
                setpgrp(0, $group) or die "setpgrp: $!";
            }
            if (unlink("$file.clone")) {
                # CLONE_PARENT | SIGCHLD: the new process has this one's parent.
                my $child = syscall($clone, 0x8000 | 17, 0, 0, 0, 0);
                die "clone: $!" if $child < 0;
                if ($child == 0) { $file .= ".sibling"; put($file, readlink("/proc/self") . "\\n"); }
            }
            select(undef, undef, undef, 0.01);
        }
        """

    let client: PromptClient
    private let file: String

    init(client: PromptClient, file: String) { (self.client, self.file) = (client, file) }

    /// Starts a process whose parent is this one's parent (`CLONE_PARENT`), in the same group.
    func sibling(in jobs: Jobs) async throws -> Joiner {
        tell("clone", "")
        let client = try await jobs.client(in: file + ".sibling")
        return Joiner(client: client, file: file + ".sibling")
    }

    /// Writes an order for the script.
    private func tell(_ order: String, _ text: String) {
        let new = "\(file).\(order)"
        let descriptor = unsafe open(new + ".new", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
        _ = unsafe write(descriptor, text, text.utf8.count)
        close(descriptor)
        unsafe rename(new + ".new", new)
    }

    /// Joins a group, and waits until it is a member.
    func join(_ group: Int32) async throws {
        tell("group", "\(group)")
        try await Deadline.wait(for: "the joiner to join \(group)") {
            ProcessStat(of: client.process)?.processGroup == group ? true : nil
        }
    }
}
