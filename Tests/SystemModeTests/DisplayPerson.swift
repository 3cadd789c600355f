import Foundation
import Glibc
import Testing
import TouchstoneTesting

/// Alice on a display: an agent of her desktop session, and a prompt program that answers for her.
///
/// The program connects as libxcb and libwayland do, and draws nothing. On a terminal it is pinentry-tty.
struct DisplayPerson {
    /// Where the program is installed.
    static let pinentry = SystemModeMachine.programs + "/pinentry-for-tests"

    let scene: FingerScene
    private let variables: [String: String]
    private let agent: ChildProcess
    private let home: String

    /// Starts the agent with the variables of a display.
    init(_ variables: [String: String]) async throws {
        (scene, self.variables) = (
            try await FingerScene(pinentry: Self.pinentry) { machine in
                try machine.write(Self.script(in: machine.home(of: .alice)), to: Self.pinentry)
                guard chmod(machine.outside(Self.pinentry), 0o755) == 0 else {
                    throw TestKitError.system("chmod", errno: errno)
                }
            }, variables
        )
        let machine = scene.machine
        home = machine.home(of: .alice)
        let log = machine.directory.appending("agent.log")
        agent = try await machine.start(
            [SystemModeMachine.agent, "--graphical"],
            as: .alice,
            environment: variables,
            log: log
        )
        try await expectAgent()
    }

    /// Waits until the daemon has the agent.
    func expectAgent() async throws {
        try await scene.machine.waitForAgent(of: .alice, environment: variables)
    }

    /// The prompts so far: `GETPIN` for a passcode, `CONFIRM` for a touch alone.
    var prompts: [String] {
        let text = (try? String(contentsOfFile: home + "/prompts", encoding: .utf8)) ?? ""
        return text.split(separator: "\n").map(String.init)
    }

    /// Lets passcodes be typed, or lets the prompts for them wait.
    func type(_ isTyping: Bool) throws {
        let path = home + "/nobody-types"
        if isTyping { unlink(path) } else { try Data().write(to: URL(fileURLWithPath: path)) }
    }

    /// Starts to read the item `finger`.
    func read(to log: String) async throws -> ChildProcess {
        try await scene.machine.start(
            [SystemModeMachine.command, "get", "finger"],
            as: .alice,
            environment: variables,
            log: scene.machine.directory.appending(log)
        )
    }

    /// Reads the item `finger`, whatever prompts that needs.
    ///
    /// - Returns: the prompts.
    @discardableResult
    func read(_ impression: Int) async throws -> [String] {
        let count = prompts.count
        let log = "read-\(impression).log"
        let reading = try await read(to: log)
        try await scene.sensor.touch(scene.finger, impression: impression)
        let status = try await reading.waitUntilEnd()
        let output = try String(contentsOfFile: scene.machine.directory.appending(log), encoding: .utf8)
        #expect(status == 0 && output == "released by finger", "\(output)")
        return Array(prompts.dropFirst(count))
    }

    /// Starts a request, and waits until it asks for the passcode, which nobody types.
    private func askedForPasscode(to log: String) async throws -> ChildProcess {
        let count = prompts.count
        try type(false)
        let reading = try await read(to: log)
        try await waitForPasscodePrompt(after: count)
        return reading
    }

    /// Waits until the prompt after the first `count` ones is for a passcode.
    ///
    /// Where the last prompt was trusted, a prompt for a touch comes first; it is replaced once it is seen where it is.
    private func waitForPasscodePrompt(after count: Int) async throws {
        try await Deadline.wait(for: "a prompt for the passcode") {
            prompts.dropFirst(count).last == "GETPIN" ? true : nil
        }
    }

    /// Expects that a request asks for the passcode, and that no touch counts meanwhile.
    func expectPasscodeDue() async throws {
        let reading = try await askedForPasscode(to: "hidden.log")
        #expect(try await !scene.sensor.isArmed(within: .milliseconds(700)))
        reading.stop()
        try type(true)
    }

    /// Expects that the passcode is asked for again, and that no touch counts before, when `swap` leads the display to another
    /// server before the passcode is typed.
    func expectAskedAgain(swap: () async throws -> Void) async throws {
        let reading = try await askedForPasscode(to: "swapped.log")
        let count = prompts.count
        try await swap()
        try Data().write(to: URL(fileURLWithPath: home + "/types-once"))
        try type(true)
        try await waitForPasscodePrompt(after: count)
        #expect(try await !scene.sensor.isArmed(within: .milliseconds(700)))
        reading.stop()
        try type(true)
    }

    private static func script(in home: String) -> String {
        """
        #!/usr/bin/perl
        use Socket;
        exec("\(TerminalPerson.pinentry)", @ARGV) if !defined $ENV{DISPLAY} && !defined $ENV{WAYLAND_DISPLAY};
        my ($number) = ($ENV{DISPLAY} // "") =~ /^:(\\d+)/;
        my $path = defined $number ? "/tmp/.X11-unix/X$number" : $ENV{WAYLAND_DISPLAY};
        $path = "$ENV{XDG_RUNTIME_DIR}/$path" if $path !~ m{^/};
        socket(my $display, AF_UNIX, SOCK_STREAM, 0);
        # libxcb tries the abstract address first.
        defined $number && connect($display, pack("S a*", AF_UNIX, "\\0$path"))
            or connect($display, sockaddr_un($path)) or die "$path: $!";
        $| = 1;
        print "OK\\n";
        while (<STDIN>) {
            my ($command) = /^(\\S+)/;
            if ($command eq "GETPIN" || $command eq "CONFIRM") {
                open(my $log, ">>", "\(home)/prompts");
                print $log "$command\\n";
                close($log);
            }
            if ($command eq "GETPIN") {
                select(undef, undef, undef, 0.01) while -e "\(home)/nobody-types";
                rename("\(home)/types-once", "\(home)/nobody-types");
                print "D \(PrivateKeychain.passcode)\\nOK\\n";
            } elsif ($command eq "CONFIRM") { sleep 600 }
            elsif (/^GETINFO flavor/) { print "D gtk2\\nOK\\n" }
            else { print "OK\\n" }
            exit if $command eq "BYE";
        }

        """
    }
}
