import Foundation

/// An X server without a screen (Xvfb).
package final class XServer: Sendable {
    /// The sockets at which a server listens.
    package enum Sockets: CaseIterable, Sendable {
        case both, pathAlone, abstractAlone

        fileprivate var arguments: [String] {
            switch self {
            case .both: []
            case .pathAlone: ["-nolisten", "local"]
            case .abstractAlone: ["-nolisten", "unix"]
            }
        }
    }

    /// The server's program.
    package static let program = "/usr/bin/Xvfb"

    /// `:N`, for the environment variable `DISPLAY`.
    package let name: String
    /// The path of its socket, and after `@` its abstract name.
    package let path: String

    private let directory: TemporaryDirectory
    private let server: ChildProcess
    private let lock: String

    /// Starts a server, and waits until it listens.
    ///
    /// - Throws: ``TestKitError`` with the server's output when it ends.
    package init(_ sockets: Sockets = .both) async throws {
        // A number that no other run is likely to use at the same time.
        let number = 100_000 + Int.random(in: 0..<800_000)
        (name, path, lock) = (":\(number)", "/tmp/.X11-unix/X\(number)", "/tmp/.X\(number)-lock")
        directory = try TemporaryDirectory()
        let log = directory.appending("log")
        // It writes its number to its output once it serves. Without -noreset it resets when its last client disconnects.
        let options =
            ["-displayfd", "1", "-screen", "0", "640x480x24", "-nolisten", "tcp", "-noreset"]
            + sockets.arguments
        let server = try await ChildProcess.start(
            Self.program,
            [name] + options,
            environment: ["PATH": "/usr/bin:/bin", "HOME": directory.path],
            log: log
        )
        self.server = server
        try await Deadline.wait(for: "the display's server") {
            let output = (try? String(contentsOfFile: log, encoding: .utf8)) ?? ""
            guard server.isRunning else { throw TestKitError.unexpected(output) }
            return output.split(separator: "\n").contains("\(number)") ? true : nil
        }
    }

    deinit {
        server.stop()
        _ = unsafe unlink(path)
        _ = unsafe unlink(lock)
    }
}

/// A program that takes a display's address and relays its connections to a hidden server.
package final class DisplayRelay: Sendable {
    private static let script = """
        use Socket; use IO::Select;
        my ($address, $to) = @ARGV;
        $address =~ s/^@/\\0/;
        socket(my $listener, AF_UNIX, SOCK_STREAM, 0) or die;
        bind($listener, pack("S a*", AF_UNIX, $address)) or die "bind: $!";
        chmod(0777, $address) if $address !~ /^\\0/;
        listen($listener, 16) or die;
        $| = 1; print "ready\\n";
        my $set = IO::Select->new($listener); my %other;
        while (1) { for my $ready ($set->can_read) {
            if ($ready == $listener) {
                accept(my $client, $listener); socket(my $server, AF_UNIX, SOCK_STREAM, 0);
                connect($server, sockaddr_un($to)) or die "connect: $!";
                ($other{$client}, $other{$server}) = ($server, $client); $set->add($client, $server);
            } elsif (sysread($ready, my $bytes, 65536)) { syswrite($other{$ready}, $bytes) }
            else { $set->remove($ready, $other{$ready}); close($other{$ready}); close($ready) }
        } }
        """
    private let process: ChildProcess

    /// Starts it, and waits until it listens.
    ///
    /// - Parameters:
    ///   - address: the path that it binds; after `@` an abstract name.
    ///   - path: the path of the hidden server's socket.
    /// - Throws: ``TestKitError`` with the program's output when it ends.
    package init(at address: String, to path: String) async throws {
        let directory = try TemporaryDirectory()
        let log = directory.appending("log")
        let process = try await ChildProcess.start(
            "/usr/bin/perl",
            ["-e", Self.script, address, path],
            log: log
        )
        self.process = process
        try await Deadline.wait(for: "the relay") {
            let output = (try? String(contentsOfFile: log, encoding: .utf8)) ?? ""
            if output.hasPrefix("ready\n") { return true }
            guard process.isRunning else { throw TestKitError.unexpected(output) }
            return nil
        }
    }
}
