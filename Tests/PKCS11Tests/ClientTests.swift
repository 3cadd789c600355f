import Foundation
import Glibc
import Testing
import TouchstoneTesting

/// Programs that were written for any token.
@Suite(
    "Other programs with the PKCS #11 module",
    .enabled(if: ModuleKeychain.isPossible, "module, caller, touchstone and touchstoned are not all there"),
    .timeLimit(.minutes(20))
)
struct ClientTests {
    private let world: ModuleKeychain

    init() async throws { world = try await ModuleKeychain() }

    private func file(_ name: String) -> String { world.directory.appending(name) }

    /// Whether OpenSSL accepts a signature of a file by a key, in DER.
    private func verifies(_ signature: String, of data: String, by key: String) async throws -> Bool {
        let key = try await world.publicKey(key)
        let result = try await world.run(
            "/usr/bin/openssl",
            "dgst",
            "-sha256",
            "-verify",
            key,
            "-signature",
            signature,
            data
        )
        return result.status == 0
    }

    @Test(
        "pkcs11-tool lists the keys and signs with them, its own digests and the module's",
        .enabled(if: Programs.isBuilt("/usr/bin/pkcs11-tool"), "opensc is not installed")
    )
    func openSC() async throws {
        func tool(_ arguments: String...) async throws -> CommandResult {
            try await world.command("/usr/bin/pkcs11-tool", ["--module", ModuleKeychain.module] + arguments)
                .run()
        }
        let before = world.keychain.prompts
        let list = try await tool("--list-objects").text
        #expect(list.contains("label:      work") && list.contains("never extractable, local"), "\(list)")
        #expect(world.keychain.prompts == before)
        try "hello".write(toFile: file("data"), atomically: true, encoding: .utf8)
        for mechanism in ["ECDSA-SHA256", "ECDSA-SHA1", "ECDSA-SHA384", "ECDSA-SHA512"] {
            let signed = try await tool(
                "--sign",
                "--mechanism",
                mechanism,
                "--signature-format",
                "openssl",
                "--label",
                "work",
                "-i",
                file("data"),
                "-o",
                file(mechanism)
            )
            #expect(signed.status == 0, "\(signed.errors)")
        }
        #expect(world.keychain.prompts == before + 4)
        #expect(try await verifies(file("ECDSA-SHA256"), of: file("data"), by: "work"))
        #expect(try await !verifies(file("ECDSA-SHA1"), of: file("data"), by: "work"))
        #expect(try await !verifies(file("ECDSA-SHA256"), of: file("data"), by: "free"))
        let test = try await tool("--test")
        #expect(test.status == 0 && test.text.contains("No errors"), "\(test.text) \(test.errors)")
    }

    @Test(
        "GnuTLS lists the keys by their URIs, and signs with one; a cancelled box fails",
        .enabled(if: Programs.isBuilt("/usr/bin/p11tool"), "gnutls-bin is not installed")
    )
    func gnuTLS() async throws {
        func tool(_ arguments: String...) async throws -> CommandResult {
            try await world.command("/usr/bin/p11tool", ["--provider", ModuleKeychain.module] + arguments)
                .run()
        }
        let before = world.keychain.prompts
        #expect(try await tool("--list-all").text.contains("token=Touchstone"))
        #expect(world.keychain.prompts == before)
        let signed = try await tool("--test-sign", "pkcs11:token=Touchstone;object=work;type=private")
        #expect(signed.status == 0, "\(signed.errors)")
        #expect(world.keychain.prompts == before + 1)
        try world.tellPerson(.cancels)
        let cancelled = try await tool("--test-sign", "pkcs11:token=Touchstone;object=work;type=private")
        #expect(cancelled.status != 0)
    }

    @Test(
        "OpenSSL's engine makes a certificate with a key, and signs a file; cancelled boxes fail",
        .enabled(
            if: FileManager.default.fileExists(atPath: "/usr/lib/x86_64-linux-gnu/engines-3/pkcs11.so")
                || FileManager.default.fileExists(atPath: "/usr/lib/aarch64-linux-gnu/engines-3/pkcs11.so"),
            "libengine-pkcs11-openssl is not installed"
        )
    )
    func openSSL() async throws {
        func openSSL(_ arguments: String...) async throws -> CommandResult {
            var run = try world.command("/usr/bin/openssl", arguments)
            run.environment["PKCS11_MODULE_PATH"] = ModuleKeychain.module
            return try await run.run()
        }
        let uri = "pkcs11:token=Touchstone;object=work;type=private"
        let before = world.keychain.prompts
        let made = try await openSSL(
            "req",
            "-new",
            "-x509",
            "-engine",
            "pkcs11",
            "-keyform",
            "engine",
            "-key",
            uri,
            "-subj",
            "/CN=me",
            "-out",
            file("certificate")
        )
        #expect(made.status == 0, "\(made.errors)")
        #expect(world.keychain.prompts == before + 1)
        let verified = try await openSSL("verify", "-CAfile", file("certificate"), file("certificate"))
        #expect(verified.status == 0, "\(verified.errors)")
        try "hello".write(toFile: file("data"), atomically: true, encoding: .utf8)
        let sign = ["dgst", "-sha256", "-engine", "pkcs11", "-keyform", "engine", "-sign", uri, "-out"]
        var run = try world.command("/usr/bin/openssl", sign + [file("signature"), file("data")])
        run.environment["PKCS11_MODULE_PATH"] = ModuleKeychain.module
        let signed = try await run.run()
        #expect(signed.status == 0, "\(signed.errors)")
        #expect(try await verifies(file("signature"), of: file("data"), by: "work"))
        // The engine tries each signature a second time by another way, and asks again.
        try world.tellPerson(.cancels, .cancels)
        let beforeRefusal = world.keychain.prompts
        #expect(try await run.run().status != 0)
        #expect(world.keychain.prompts == beforeRefusal + 2)
    }

    @Test(
        "ssh signs in with a key and no PIN; a cancelled box ends the attempt",
        .enabled(if: SSHServer.isPossible, "sshd, ssh and ssh-keygen are not all there")
    )
    func ssh() async throws {
        let listed = try await world.run("/usr/bin/ssh-keygen", "-D", ModuleKeychain.module)
        #expect(listed.status == 0, "\(listed.errors)")
        let line = try #require(
            listed.text.split(separator: "\n").first { $0.hasSuffix(" work") }.map(String.init)
        )
        let ssh = try await world.keychain.run("key", "show", "work").text
        #expect(ssh.split(separator: " ")[1] == line.split(separator: " ")[1])
        let server = try await SSHServer(authorized: line)
        try (server.knownHost + "\n").write(toFile: file("known_hosts"), atomically: true, encoding: .utf8)
        func login() async throws -> CommandResult {
            try await world.command(
                "/usr/bin/ssh",
                [
                    "-F", "/dev/null", "-p", "\(server.port)", "-o",
                    "PKCS11Provider=\(ModuleKeychain.module)",
                    "-o", "StrictHostKeyChecking=yes", "-o",
                    "UserKnownHostsFile=\(file("known_hosts"))", "-o", "PasswordAuthentication=no",
                    "\(SSHServer.user)@127.0.0.1", "echo in",
                ]
            ).run()
        }
        let before = world.keychain.prompts
        let first = try await login()
        #expect(first.status == 0 && first.text == "in\n", "\(first.errors)")
        #expect(world.keychain.prompts == before + 1)
        #expect(world.keychain.boxes.last?.contains("Requested by /usr/bin/ssh (process") == true)
        try world.tellPerson(.cancels)
        #expect(try await login().status == 255)
    }
}
