import Foundation
import Glibc
import Testing
import TouchstoneTesting

/// What the owner's programs try against the owner's daemon, each with a control that succeeds.
@Suite(
    "A program of the same user",
    .enabled(
        if: SystemModeMachine.isPossible,
        "needs root, and a machine that lets it mount: unshare, nsenter, setpriv"
    )
)
struct SameUserTests {
    private static let alice = SystemModeMachine.Account.alice

    /// A machine on which alice's keychain has an item, and her daemon.
    private static func prepared() async throws -> (ScriptedOwner, SystemModeMachine, SystemDaemon) {
        let person = try ScriptedOwner()
        let machine = try await SystemModeMachine.start(
            configuration: ScriptedOwner.settings + ["biometry = off", person.setting]
        )
        let daemon = try await machine.startDaemon(for: alice, withBroker: true)
        let command = SystemModeMachine.command
        let setUp = try await machine.run([command, "setup"], as: alice, environment: person.environment)
        #expect(setUp.status == 0, "\(setUp.output)")
        let set = try await machine.run(
            [command, "set", "mail", "--require", "none"],
            as: alice,
            input: "the secret"
        )
        #expect(set.status == 0, "\(set.output)")
        return (person, machine, daemon)
    }

    private static func expectAllIsWell(_ machine: SystemModeMachine) async throws {
        let found = try await machine.run([SystemModeMachine.command, "get", "mail"], as: alice)
        #expect(found.status == 0 && found.output == "the secret", "\(found.output)")
    }

    /// Tries every way in which Linux allows to inspect or affect a process; prints a line for each that
    /// succeeds.
    ///
    /// Without a process number it tries them on a program that it starts.
    private static let looks = #"""
        use strict; use Fcntl;
        my $arm = `uname -m` =~ /aarch64/;
        my %call = $arm ? (ptrace => 117, readv => 270, getfd => 438, open => 434, prlimit => 261)
                        : (ptrace => 101, readv => 310, getfd => 438, open => 434, prlimit => 302);
        my $pid = shift;
        if (!$pid) { $pid = fork(); if (!$pid) { exec('/bin/sleep', '600') } select(undef, undef, undef, 0.05) until readlink("/proc/$pid/exe") =~ /sleep|coreutils/ }
        sub told { print "$_[0]\n" if $_[1] }
        for my $name (qw(mem environ maps smaps auxv syscall stack io)) {
            my ($file, $some);
            # The memory's first page is no one's: to open it is enough.
            told($name, sysopen($file, "/proc/$pid/$name", O_RDONLY) && ($name eq 'mem' || defined sysread($file, $some, 1)));
        }
        for my $name (qw(exe cwd root)) { told($name, defined readlink("/proc/$pid/$name")) }
        told('fd', opendir(my $all, "/proc/$pid/fd"));
        for my $name (qw(oom_score_adj coredump_filter)) { told("write $name", sysopen(my $file, "/proc/$pid/$name", O_WRONLY)) }
        my $address = 65536;
        if (open(my $maps, '<', "/proc/$pid/maps")) { ($address) = map { hex } <$maps> =~ /^([0-9a-f]+)/ }
        my $room = "\0" x 8;
        my $here = pack('QQ', unpack('Q', pack('P', $room)), 8);
        my $there = pack('QQ', $address, 8);
        told('process_vm_readv', syscall($call{readv}, $pid, $here, 1, $there, 1, 0) == 8);
        my $handle = syscall($call{open}, $pid, 0);
        told('pidfd_getfd', syscall($call{getfd}, $handle, 0, 0) >= 0);
        told('prlimit', syscall($call{prlimit}, $pid, 4, 0, $room x 2) == 0);
        told('signal', kill(0, $pid));
        told('ptrace', syscall($call{ptrace}, 16, $pid, 0, 0) == 0);
        kill('KILL', $pid) if !@ARGV && $pid;
        """#

    @Test("a program cannot inspect or signal the daemon: no memory, descriptor, trace or signal")
    func processes() async throws {
        let (_, machine, daemon) = try await Self.prepared()
        let control = try await machine.run(["/usr/bin/perl", "-e", Self.looks], as: Self.alice)
        var expected = [
            "environ", "maps", "exe", "cwd", "root", "fd", "write coredump_filter", "prlimit", "signal",
        ]
        // From 2 on only administrators may trace, not even a parent its child (Yama, admin-guide/LSM).
        let scope = try? String(contentsOfFile: "/proc/sys/kernel/yama/ptrace_scope", encoding: .utf8)
        if !["2\n", "3\n"].contains(scope) {
            expected += ["mem", "process_vm_readv", "pidfd_getfd", "ptrace"]
        }
        let possible = Set(control.output.split(separator: "\n").map(String.init))
        #expect(possible.isSuperset(of: expected), "\(control.output)")
        let tried = try await machine.run(
            ["/usr/bin/perl", "-e", Self.looks, "\(daemon.process.processID)", "spare"],
            as: Self.alice
        )
        #expect(tried.status == 0 && tried.output.isEmpty, "\(tried.output)")
        #expect(daemon.process.isRunning)
        try await Self.expectAllIsWell(machine)
    }

    /// Tries to read or change a path in every way; prints a line for each that succeeds.
    private static let changes = """
        spare=$HOME/spare; mkdir -p $spare
        try() { "$@" >/dev/null 2>&1 && echo "$path: $*"; }
        for path; do
            name=$(basename $path) parent=$(dirname $path)
            try cat $path
            try ls $path/
            try cp -r $path $spare/copy-$name
            try ln $path $spare/link-$name
            try touch $path
            try sh -c "echo x >>$path"
            try sh -c "echo x >$path/planted"
            try chmod 777 $path
            try sh -c "echo x >$parent/planted"
            try mv $path $spare/moved-$name
            try rm -rf $path
            try ln -sfn $spare $path
        done
        true
        """

    @Test("a program reads and changes no file of the store, and changes no installed file")
    func files() async throws {
        let (_, machine, daemon) = try await Self.prepared()
        let store = "/var/lib/touchstone/\(Self.alice.uid)"
        let socket = "/run/touchstone/\(Self.alice.uid)"
        let secret = try FileManager.default.contentsOfDirectory(atPath: machine.outside(store)).sorted()
        #expect(secret.contains("keybag") && secret.contains("items.sqlite"), "\(secret)")
        let kept = secret.map { "\(store)/\($0)" } + [store]
        let shown = [
            "/var/lib/touchstone", "/run/touchstone", socket, "\(socket)/socket",
            "/etc/touchstone/touchstoned.conf", "/etc/touchstone", SystemModeMachine.programs,
            SystemModeMachine.programs + "/touchstoned", SystemModeMachine.command,
        ]
        func tried(_ paths: [String]) async throws -> [String] {
            let ended = try await machine.run(["/bin/sh", "-c", Self.changes, "sh"] + paths, as: Self.alice)
            #expect(ended.status == 0, "\(ended.output)")
            return ended.output.split(separator: "\n").map(String.init)
        }
        // Control: in a directory of her own all of that succeeds.
        let own = machine.home(of: Self.alice) + "/own"
        _ = try await machine.run(
            ["/bin/sh", "-ec", "mkdir \(own); echo 1 >\(own)/file"],
            as: Self.alice
        )
        let possible = try await tried(["\(own)/file"])
        for deed in ["cat", "cp", "ln", "touch", "chmod", "sh -c", "mv"] {
            #expect(possible.contains { $0.hasPrefix("\(own)/file: \(deed)") }, "\(deed): \(possible)")
        }
        #expect(try await tried(kept) == [])
        let changed = try await tried(shown).filter { line in
            // What anybody may read, and the mode of the socket, which is alice's: the daemon checks who
            // connects.
            ![": cat ", ": ls ", ": cp -r ", "/socket: touch ", "/socket: chmod "].contains {
                line.contains($0)
            }
        }
        #expect(changed == [])
        #expect(
            try FileManager.default.contentsOfDirectory(atPath: machine.outside(store)).sorted() == secret
        )
        #expect(daemon.process.isRunning)
        try await Self.expectAllIsWell(machine)
    }
}
