import Foundation
import Glibc
import NIOHTTP1
import Testing
import WebAuthnModel

@testable import TouchstoneServer

extension ServerTests {
    @Suite("Installed files of the server")
    struct DeployedFileTests {
        private static let analyze = "/usr/bin/systemd-analyze"
        private static let unit = "touchstone-server.service"

        @Test("the example configuration has every setting with its default, and is accepted as it is")
        func configuration() async throws {
            let lines = try Deployment.text("touchstone-server.conf").split(separator: "\n").map(String.init)
            var defaults = ServerConfiguration(dataDirectory: "/var/lib/touchstone-server")
            // What depends on the machine has no value.
            defaults.database = nil
            var seen: [String] = []
            for line in lines {
                guard let match = line.wholeMatch(of: /#?([a-z-]+) =( (.*))?/) else {
                    #expect(line.hasPrefix("# "), "\(line)")
                    continue
                }
                let key = String(match.1)
                seen.append(key)
                let isUnset = ["database", "password-workers", "password-queue"].contains(key)
                let expected = isUnset ? "" : defaults.text(of: key) ?? ""
                #expect(match.3.map(String.init) ?? "" == expected, "\(line)")
                #expect(line.hasPrefix("#") == (key != "data-directory"), "\(line)")
            }
            #expect(seen.sorted() == ServerConfiguration.keys.sorted())
            let read = try ServerConfiguration.read(
                file: Deployment.path("touchstone-server.conf"),
                environment: [:]
            )
            for key in ServerConfiguration.keys {
                #expect(read.text(of: key) == defaults.text(of: key), "\(key)")
            }
            // And with every line in force that has a value.
            try await TestServer.inDirectory { directory in
                let all = lines.filter { $0.contains(/^#?[a-z-]+ = ./) }.map { $0.replacing(/^#/, with: "") }
                #expect(all.count == 37)
                try TestServer.write(["all.conf": all.joined(separator: "\n")], to: directory)
                _ = try ServerConfiguration.read(file: "\(directory)/all.conf", environment: [:])
            }
        }

        @Test(
            "systemd rates the exposure of the server at most 1.5 of 10",
            .enabled(if: Deployment.isInstalled(analyze), "systemd is not installed")
        )
        func exposure() async throws {
            func rate(_ path: String) async throws -> (status: Int32, text: String) {
                try await SystemProgram.run(
                    "systemd-analyze",
                    ["security", "--no-pager", "--offline=true", "--threshold=15", path]
                )
            }
            let good = try await rate(Deployment.path(Self.unit))
            #expect(good.status == 0, "\(good.text)")
            // Control: without its system call filter the unit exceeds the limit.
            try await TestServer.inDirectory { directory in
                let lines = try Deployment.text(Self.unit).split(separator: "\n")
                    .filter { !$0.hasPrefix("SystemCallFilter=") }
                try TestServer.write([Self.unit: lines.joined(separator: "\n") + "\n"], to: directory)
                let bad = try await rate("\(directory)/\(Self.unit)")
                #expect(bad.status != 0, "\(bad.text)")
            }
        }

        @Test(
            "systemd accepts the units without a warning",
            .enabled(if: Deployment.isInstalled(analyze), "systemd is not installed")
        )
        func verify() async throws {
            try await TestServer.inDirectory { directory in
                let program = BuiltProgram.products.appending(path: "touchstone-server").path
                var units: [String] = []
                for name in [Self.unit, "touchstone-server.socket", "touchstone-server-admin.socket"] {
                    let text = try Deployment.text(name)
                        .replacing("ExecStart=/usr/sbin/touchstone-server ", with: "ExecStart=\(program) ")
                        // The page is not installed here.
                        .replacing("Documentation=man:touchstone-server(8)\n", with: "")
                    #expect(!text.contains("/usr/sbin") && !text.contains("man:"))
                    try TestServer.write([name: text], to: directory, mode: 0o644)
                    units.append("\(directory)/\(name)")
                }
                let good = try await SystemProgram.run("systemd-analyze", ["verify"] + units)
                // Of the files named here; systemd also reads those of the machine.
                let said = good.text.split(separator: "\n").filter { $0.contains("touchstone-server") }
                #expect(said.isEmpty, "\(good.text)")
                try TestServer.write(
                    [Self.unit: try Deployment.text(Self.unit) + "[Service]\nNonsense=yes\n"],
                    to: directory
                )
                let bad = try await SystemProgram.run("systemd-analyze", ["verify", units[0]])
                #expect(bad.text.contains("Nonsense"), "\(bad.text)")
            }
        }

        /// The unit for an account that there is on each machine, with its state in a test's directory.
        private static func sandboxed() throws -> String {
            try Deployment.text(unit).split(separator: "\n").filter { line in
                !["Group=", "StateDirectory"].contains { line.hasPrefix($0) }
            }.joined(separator: "\n").replacing("User=touchstone-server", with: "User=nobody") + "\n"
        }

        /// Whether a sandbox is possible here; tried once, because a container may forbid it.
        private static let canSandbox: Bool = {
            guard geteuid() == 0, Deployment.isInstalled(analyze), Deployment.isInstalled("/usr/bin/python3")
            else { return false }
            let file = FileManager.default.temporaryDirectory.appending(path: "\(UUID().uuidString).service")
            defer { try? FileManager.default.removeItem(at: file) }
            guard (try? Data(sandboxed().utf8).write(to: file)) != nil else { return false }
            let process = Process()
            process.executableURL = URL(filePath: "/usr/bin/python3")
            process.arguments = ["-B", Deployment.sandbox, file.path, "", "--", "/usr/bin/env"]
            process.standardOutput = FileHandle.nullDevice
            process.standardError = FileHandle.nullDevice
            guard (try? process.run()) != nil else { return false }
            process.waitUntilExit()
            return process.terminationStatus == 0
        }()

        @Test(
            "the server signs a user in within the unit's sandbox",
            .enabled(if: canSandbox, "needs root with CAP_SYS_ADMIN, python3, systemd-analyze and libseccomp")
        )
        func sandbox() async throws {
            try await TestServer.inDirectory { directory in
                let state = "\(directory)/state"
                try FileManager.default.createDirectory(atPath: state, withIntermediateDirectories: true)
                let nobody = try #require(getpwnam("nobody"))
                for path in [directory, state] {
                    #expect(chown(path, nobody.pointee.pw_uid, nobody.pointee.pw_gid) == 0)
                }
                try TestServer.write([Self.unit: try Self.sandboxed()], to: directory)
                let ports = try FreePorts()
                var environment = ports.environment
                environment["TOUCHSTONE_SERVER_DATA_DIRECTORY"] = state
                environment["PATH"] = "/usr/bin:/bin"
                let process = try BuiltProgram(
                    directory,
                    ["serve"],
                    environment,
                    by: [
                        "/usr/bin/python3", "-B", Deployment.sandbox, "\(directory)/\(Self.unit)", "",
                        "--keep",
                        "\(FileManager.default.temporaryDirectory.path)/touchstone-*", "--",
                    ]
                )
                let text = try await process.output(until: "\"name\": \"me\"}'")
                let token = try #require(text.firstMatch(of: /ts_bt_[A-Za-z0-9_-]+/), "\(text)")
                let server = try ports.server(in: directory)
                let answer = try await server.call(
                    .POST,
                    "/admin/v1/bootstrap",
                    ["token": .string(String(token.0))],
                    isAdmin: true
                )
                let running = TestServer(
                    api: server.api,
                    admin: server.admin,
                    program: nil,
                    configuration: server.configuration,
                    adminToken: try #require(answer["token"]?.string)
                )
                let user = try await TestUser.withPasskey(on: running)
                #expect(try await user.logInByPasskey().status == 200)
                #expect(try await ports.status("/health/ready", port: ports.admin) == 200)
                let status = try String(
                    contentsOfFile: "/proc/\(process.processIdentifier)/status",
                    encoding: .utf8
                )
                #expect(status.contains("\nUid:\t\(nobody.pointee.pw_uid)\t"), "\(status)")
                #expect(
                    status.contains("\nCapBnd:\t0000000000000000\n") && status.contains("\nSeccomp:\t2\n")
                )
                process.terminate()
                #expect(await process.status() == 0)
            }
        }
    }
}
