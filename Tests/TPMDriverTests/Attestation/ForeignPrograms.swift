import Foundation
import Testing
import TouchstoneTesting

extension OpenSSL {
    /// Whether a certificate in DER chains to an authority, according to `openssl verify`.
    static func vouches(_ authority: TestAuthority, for certificate: [UInt8]) async throws -> Bool {
        let directory = try TemporaryDirectory()
        let root = try directory.write(authority.root, to: "root.pem")
        let issuer = try directory.write(authority.issuer, to: "issuer.pem")
        let leaf = try directory.write(pem(certificate), to: "leaf.pem")
        // The critical extensions of an EK certificate are for the TCG's verifiers (EK Credential Profile, 3.2).
        return try await run(["verify", "-ignore_critical", "-CAfile", root, "-untrusted", issuer, leaf])
    }

    /// RSAES-OAEP with SHA-256 and a label, for the key of a certificate in DER.
    static func encrypt(_ octets: [UInt8], label: [UInt8], to certificate: [UInt8]) async throws -> [UInt8] {
        let directory = try TemporaryDirectory()
        let leaf = try directory.write(pem(certificate), to: "leaf.pem")
        let (clear, encrypted) = (directory.appending("clear"), directory.appending("encrypted"))
        try Data(octets).write(to: URL(fileURLWithPath: clear))
        let isDone = try await run([
            "pkeyutl", "-encrypt", "-certin", "-inkey", leaf, "-in", clear, "-out", encrypted,
            "-pkeyopt", "rsa_padding_mode:oaep", "-pkeyopt", "rsa_oaep_md:sha256",
            "-pkeyopt", "rsa_mgf1_md:sha256", "-pkeyopt", "rsa_oaep_label:\(hexadecimal(label))",
        ])
        try #require(isDone)
        return [UInt8](try Data(contentsOf: URL(fileURLWithPath: encrypted)))
    }

    private static func pem(_ certificate: [UInt8]) -> String {
        let text = Data(certificate).base64EncodedString(options: .lineLength64Characters)
        return "-----BEGIN CERTIFICATE-----\n\(text)\n-----END CERTIFICATE-----\n"
    }

    private static func hexadecimal(_ octets: [UInt8]) -> String {
        octets.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
    }
}

/// tpm2-tools, as another user of the TPM.
enum TPM2Tools {
    /// Runs one of the tools on a TPM without other connections.
    static func run(_ tool: String, _ arguments: [String], _ chip: SoftwareTPM) async throws {
        let program = try await ChildProcess.start(
            "/usr/bin/tpm2_\(tool)",
            arguments,
            environment: ["TPM2TOOLS_TCTI": chip.tcti, "PATH": "/usr/bin:/bin"]
        )
        let status = try await program.waitUntilEnd()
        try #require(status == 0, "tpm2_\(tool)")
    }
}
