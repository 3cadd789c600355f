import Foundation
import Glibc

/// The certificate authority that signs for ``SoftwareTPM/Chip/certified(_:)``, one per process.
package struct TestAuthority: Sendable {
    /// The root certificate, PEM.
    package let root: String
    /// The certificate of the intermediate authority, which signs those of the chips, PEM.
    package let issuer: String
}

/// Chips with certificates, made once per process by swtpm_setup and copied from then on.
actor PreparedChips {
    static let shared = PreparedChips()

    private var chips: [Int: Task<SoftwareTPM.State, any Error>] = [:]
    private var directory: TemporaryDirectory?
    private var last: Task<Void, Never>?

    /// The state of the chip with this number.
    func state(_ number: Int) async throws -> SoftwareTPM.State {
        if let chip = chips[number] { return try await chip.value }
        // One at a time: they share the authority's files.
        let previous = last
        let chip = Task {
            await previous?.value
            return try await make(number)
        }
        chips[number] = chip
        last = Task { _ = try? await chip.value }
        return try await chip.value
    }

    /// The authority's certificates; available once a certified chip was made.
    func authority() throws -> TestAuthority {
        guard let directory else { throw TestKitError.unexpected("no certified chip was made") }
        func text(_ name: String) throws -> String {
            try String(contentsOfFile: directory.appending("authority/\(name)"), encoding: .utf8)
        }
        return TestAuthority(
            root: try text("swtpm-localca-rootca-cert.pem"),
            issuer: try text("issuercert.pem")
        )
    }

    private func make(_ number: Int) async throws -> SoftwareTPM.State {
        let directory = try prepared()
        let state = try directory.makeDirectory("chip-\(number)")
        let account = unsafe getpwuid(geteuid()).map { unsafe String(cString: $0.pointee.pw_name) } ?? "root"
        let setUp = try await ChildProcess.start(
            "/usr/bin/swtpm_setup",
            [
                "--tpm2", "--tpmstate", state, "--config", directory.appending("setup.conf"),
                "--create-ek-cert", "--create-platform-cert", "--lock-nvram", "--not-overwrite",
                "--runas", account,
            ],
            environment: ["PATH": "/usr/bin:/bin:/usr/sbin:/sbin", "HOME": directory.path],
            log: directory.appending("setup.log")
        )
        guard try await setUp.waitUntilEnd() == 0 else {
            throw TestKitError.unexpected("swtpm_setup failed")
        }
        return try SoftwareTPM.State(directory: state)
    }

    private func prepared() throws -> TemporaryDirectory {
        if let directory { return directory }
        let directory = try TemporaryDirectory()
        let authority = try directory.makeDirectory("authority")
        let options = try directory.write(
            """
            --platform-manufacturer Touchstone
            --platform-version 1
            --platform-model Test

            """,
            to: "authority.options"
        )
        let configuration = try directory.write(
            """
            statedir = \(authority)
            signingkey = \(authority)/signkey.pem
            issuercert = \(authority)/issuercert.pem
            certserial = \(authority)/certserial

            """,
            to: "authority.conf"
        )
        _ = try directory.write(
            """
            create_certs_tool = /usr/bin/swtpm_localca
            create_certs_tool_config = \(configuration)
            create_certs_tool_options = \(options)

            """,
            to: "setup.conf"
        )
        self.directory = directory
        return directory
    }
}
