import Glibc
import TouchstoneTesting

/// tpm2-tools: one program per step, with the same policies and the same protection of secrets.
struct ToolsChip: ChipUser {
    private static let place = "/usr/bin"
    private static let authorization = "hex:" + String(repeating: "07", count: 32)
    private static let index = "0x1a70000"

    private let chip: SoftwareTPM
    private let directory: TemporaryDirectory

    /// Whether tpm2-tools is installed.
    static var areInstalled: Bool { unsafe access("\(place)/tpm2_sign", X_OK) == 0 }

    /// Creates the storage primary, a key, and the policy digests, which a program would know in advance.
    static func start() async throws -> ToolsChip {
        let tools = ToolsChip(chip: try await SoftwareTPM.start(), directory: try TemporaryDirectory())
        _ = try tools.directory.write(String(repeating: "d", count: 32), to: "digest")
        _ = try tools.directory.write(String(repeating: "s", count: 32), to: "secret")
        // Eight bytes: no failure yet, and the maximum number of failures.
        _ = try tools.directory.write("\0\0\0\0\0\0\0\n", to: "count")
        try tools.run(tools.preparation)
        return tools
    }

    func time(_ operation: ChipOperation) throws -> Nanoseconds {
        let time = try Stopwatch.time { try run(steps(operation)) }
        if operation == .seal { try run([removal]) }
        return time
    }

    func commandCount(_ operation: ChipOperation) throws -> Int {
        let recorder = try TPMRecorder(chip)
        try run(steps(operation), through: recorder.tcti)
        let count = recorder.commands.count
        if operation == .seal { try run([removal]) }
        return count
    }

    private func run(_ steps: [[String]], through tcti: String? = nil) throws {
        let environment = ["TPM2TOOLS_TCTI": tcti ?? chip.tcti, "TSS2_LOG": "all+NONE", "PATH": Self.place]
        for step in steps {
            try CommandRun(
                path: "\(Self.place)/tpm2_\(step[0])",
                arguments: Array(step.dropFirst()),
                environment: environment,
                isQuiet: true
            ).run()
        }
    }

    // MARK: Steps

    private func steps(_ operation: ChipOperation) -> [[String]] {
        switch operation {
        case .seal: create + definition + unseal
        case .sign:
            loaded("key") + session("--enable-decrypt")
                + [
                    ["policyauthvalue", "-S", file("session")],
                    [
                        "sign", "-c", file("loaded"), "-p", sessionAuthorization, "-g", "sha256", "-d", "-f",
                        "plain",
                        "-o", file("out"), file("digest"),
                    ],
                ] + flushed
        case .agree:
            loaded("key") + session("--enable-decrypt", "--enable-encrypt")
                + [
                    ["policyauthvalue", "-S", file("session")],
                    [
                        "ecdhzgen", "-c", file("loaded"), "-p", sessionAuthorization, "-u", file("peer"),
                        "-o",
                        file("out"),
                    ],
                    // This tool leaves its session loaded; the others save theirs.
                    flushObjects, ["flushcontext", "-l"],
                ]
        }
    }

    private var create: [[String]] {
        [
            [
                "create", "-C", file("primary"), "-i", file("secret"), "-L", file("seal.policy"), "-p",
                Self.authorization, "-a", "fixedtpm|fixedparent", "-u", file("sealed.public"), "-r",
                file("sealed.private"),
            ],
            flushObjects,
        ]
    }

    /// Defines the PIN index, with its maximum number of failures.
    private var definition: [[String]] {
        [
            [
                "nvdefine", Self.index, "-C", "o", "-s", "8", "-a",
                "nt=pinfail|policywrite|ownerread|authread|no_da", "-L", file("write.policy"), "-p",
                Self.authorization,
            ],
            ["startauthsession", "--policy-session", "-S", file("session")],
            ["policynvwritten", "-S", file("session"), "c"],
            [
                "nvwrite", Self.index, "-C", Self.index, "-P", "session:\(file("session"))", "-i",
                file("count"),
            ],
            flushSessions,
        ]
    }

    private var removal: [String] { ["nvundefine", Self.index, "-C", "o"] }

    private var unseal: [[String]] {
        loaded("sealed") + session("--enable-encrypt")
            + [
                ["policysecret", "-S", file("session"), "-c", Self.index, Self.authorization],
                ["policyauthvalue", "-S", file("session")],
                ["unseal", "-c", file("loaded"), "-p", sessionAuthorization, "-o", file("out")],
            ] + flushed
    }

    private var preparation: [[String]] {
        let trial = ["startauthsession", "-S", file("session")]
        return [
            ["createprimary", "-C", "o", "-G", "ecc256", "-c", file("primary")],
            flushObjects,
            trial,
            ["policyauthvalue", "-S", file("session"), "-L", file("auth.policy")],
            flushSessions,
            trial,
            ["policynvwritten", "-S", file("session"), "-L", file("write.policy"), "c"],
            flushSessions,
            [
                "create", "-C", file("primary"), "-G", "ecc256", "-L", file("auth.policy"), "-p",
                Self.authorization,
                "-a", "fixedtpm|fixedparent|sensitivedataorigin|noda|sign|decrypt", "-u", file("key.public"),
                "-r",
                file("key.private"),
            ],
            flushObjects,
        ] + loaded("key") + [
            ["ecdhkeygen", "-c", file("loaded"), "-u", file("peer"), "-o", file("out")],
            flushObjects,
        ] + definition + [
            trial,
            [
                "policysecret", "-S", file("session"), "-c", Self.index, "-L", file("seal.policy"),
                Self.authorization,
            ],
            ["policyauthvalue", "-S", file("session"), "-L", file("seal.policy")],
            flushSessions,
            removal,
        ]
    }

    /// Loads an object into a context file: the chip has room for three, and every tool reloads what it needs.
    private func loaded(_ name: String) -> [[String]] {
        [
            [
                "load", "-C", file("primary"), "-u", file("\(name).public"), "-r", file("\(name).private"),
                "-c",
                file("loaded"),
            ],
            flushObjects,
        ]
    }

    /// Starts a salted policy session with parameter encryption.
    private func session(_ encryption: String...) -> [[String]] {
        [
            [
                "startauthsession", "--policy-session", "-S", file("session"), "--tpmkey-context",
                file("primary"),
            ],
            flushObjects,
            ["sessionconfig", file("session")] + encryption,
        ]
    }

    private var sessionAuthorization: String { "session:\(file("session"))+\(Self.authorization)" }
    private var flushObjects: [String] { ["flushcontext", "-t"] }
    // Between two tools a session is saved, not loaded.
    private var flushSessions: [String] { ["flushcontext", "-s"] }
    private var flushed: [[String]] { [flushObjects, flushSessions] }

    private func file(_ name: String) -> String { directory.appending(name) }
}
