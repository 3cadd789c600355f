import Foundation
import Glibc
import Testing
import TouchstoneTesting

/// The files that are installed for system mode: `dist/system`.
enum ShippedFiles {
    static let directory = UnitSandbox.shippedUnits

    static func text(_ name: String) throws -> String {
        try String(contentsOfFile: "\(directory)/\(name)", encoding: .utf8)
    }

    static func isProgram(_ path: String) -> Bool { access(path, X_OK) == 0 }
}

@Suite("Installed files of system mode")
struct UnitFileTests {
    private static let analyze = "/usr/bin/systemd-analyze"
    private static let sysusers = "/usr/bin/systemd-sysusers"
    private static let tmpfiles = "/usr/bin/systemd-tmpfiles"

    /// Whether systemd can analyse a file that is not installed: from version 250 on.
    private static let canCount: Bool = {
        let process = Process()
        let output = Pipe()
        process.executableURL = URL(fileURLWithPath: analyze)
        process.arguments = ["--version"]
        process.standardOutput = output
        guard (try? process.run()) != nil else { return false }
        let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        return text.split(separator: " ").dropFirst().first.flatMap { Int($0) }.map { $0 >= 250 } ?? false
    }()

    @Test(
        "systemd rates the exposure of daemon and broker at most 1.0 and 1.6 of 10",
        .enabled(
            if: canCount,
            "systemd is not installed, or older than 250, which counts installed units alone"
        ),
        arguments: [("touchstoned@.service", 10), ("touchstone-broker.service", 16)]
    )
    func exposure(name: String, most: Int) async throws {
        let security = [Self.analyze, "security", "--no-pager", "--offline=true", "--threshold=\(most)"]
        let good = try await Finished.running(security + ["\(ShippedFiles.directory)/\(name)"])
        #expect(good.status == 0, "\(good.output)")
        // Control: without its system call filter the unit exceeds the limit.
        let directory = try TemporaryDirectory()
        let lines = try ShippedFiles.text(name).split(separator: "\n")
        let weak = try directory.write(
            lines.filter { !$0.hasPrefix("SystemCallFilter=") }.joined(separator: "\n") + "\n",
            to: name
        )
        let bad = try await Finished.running(security + [weak])
        #expect(bad.status != 0, "\(bad.output)")
    }

    @Test(
        "systemd accepts the units without a warning",
        .enabled(if: ShippedFiles.isProgram(analyze), "systemd is not installed")
    )
    func verify() async throws {
        let directory = try TemporaryDirectory()
        // The program is installed elsewhere than it was built.
        let service = try ShippedFiles.text("touchstoned@.service").replacing(
            "ExecStart=/usr/libexec/touchstone/touchstoned ",
            with: "ExecStart=\(Programs.installedTouchstoned) "
        )
        var units: [String] = []
        let broker = try ShippedFiles.text("touchstone-broker.service").replacing(
            "ExecStart=/usr/libexec/touchstone/",
            with: "ExecStart=\(Programs.directory)/"
        )
        for (name, text) in [
            ("touchstoned@1000.service", service),
            ("touchstoned@1000.socket", try ShippedFiles.text("touchstoned@.socket")),
            ("touchstone-broker.service", broker),
            ("touchstone-broker.socket", try ShippedFiles.text("touchstone-broker.socket")),
        ] {
            // A template and the instance that the other unit names.
            _ = try directory.write(text, to: name.replacing("1000", with: ""))
            units.append(try directory.write(text, to: name))
        }
        let good = try await Finished.running([Self.analyze, "verify", "--man=no"] + units)
        #expect(good.status == 0, "\(good.output)")
        #expect(!good.output.contains(directory.path), "\(good.output)")
        let wrong = try directory.write(service + "[Service]\nNoSuchLine=yes\n", to: "wrong@1000.service")
        let bad = try await Finished.running([Self.analyze, "verify", "--man=no", wrong])
        #expect(bad.output.contains("NoSuchLine"))
    }

    @Test("the agent's user unit has no setting that implies NoNewPrivileges=, which would disable set-gid")
    func agent() throws {
        let lines = try ShippedFiles.text("touchstone-agent.service").split(separator: "[Service]\n")[1]
            .split(separator: "[Install]")[0].split(separator: "\n")
        let names = Set(lines.compactMap { $0.split(separator: "=").first })
        #expect(
            names == ["ExecStart", "Restart", "RestartSec", "TimeoutStopSec", "UMask", "LimitCORE", "Slice"]
        )
    }

    @Test(
        "sysusers creates the account, a member of tss, and groups without members",
        .enabled(if: geteuid() == 0 && ShippedFiles.isProgram(sysusers), "needs root and systemd-sysusers")
    )
    func accounts() async throws {
        let directory = try TemporaryDirectory()
        _ = try directory.makeDirectory("etc", mode: 0o755)
        _ = try directory.write("root:x:0:0:root:/root:/bin/sh\n", to: "etc/passwd")
        _ = try directory.write("root:x:0:\n", to: "etc/group")
        let file = "\(ShippedFiles.directory)/touchstone.sysusers"
        let made = try await Finished.running([Self.sysusers, "--root=\(directory.path)", file])
        #expect(made.status == 0, "\(made.output)")
        let users = try String(contentsOfFile: directory.appending("etc/passwd"), encoding: .utf8)
        let account = try #require(users.split(separator: "\n").first { $0.hasPrefix("touchstone:") })
            .split(separator: ":", omittingEmptySubsequences: false)
        #expect(account[5] == "/var/lib/touchstone")
        #expect(account[6].hasSuffix("nologin"))
        let groups = try String(contentsOfFile: directory.appending("etc/group"), encoding: .utf8)
            .split(separator: "\n").map { $0.split(separator: ":", omittingEmptySubsequences: false) }
        let members = Dictionary(groups.map { ($0[0], $0[3]) }) { first, _ in first }
        #expect(members["tss"] == "touchstone")
        #expect(members["touchstone"] == "")
        #expect(members["touchstone-agent"] == "")
        #expect(members["touchstone-door"] == "")
    }

    @Test(
        "tmpfiles creates directories that belong to root and only root can write to",
        .enabled(if: geteuid() == 0 && ShippedFiles.isProgram(tmpfiles), "needs root and systemd-tmpfiles")
    )
    func directories() async throws {
        let directory = try TemporaryDirectory()
        let file = "\(ShippedFiles.directory)/touchstone.tmpfiles"
        let made = try await Finished.running([Self.tmpfiles, "--create", "--root=\(directory.path)", file])
        #expect(made.status == 0, "\(made.output)")
        for path in ["run/touchstone", "var/lib/touchstone"] {
            var status = stat()
            #expect(lstat(directory.appending(path), &status) == 0)
            #expect(status.st_uid == 0)
            #expect(status.st_mode & 0o777 == 0o755)
        }
    }
}
