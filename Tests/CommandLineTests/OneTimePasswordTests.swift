import Foundation
import Glibc
import ScriptedDaemon
import Testing
import TouchstoneTesting

/// `touchstone totp`, compared with oathtool of OATH Toolkit, and with the test vectors of RFC 6238 by a false clock.
@Suite(
    "One-time passwords",
    .enabled(if: RealKeychain.isPossible, "touchstone and touchstoned are not both built")
)
struct OneTimePasswordTests {
    private static let oathtool = "/usr/bin/oathtool"
    /// The keys of RFC 6238, appendix B: "1234567890" repeated to the length of the digest.
    private static let keys = [
        "SHA1": "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ",
        "SHA256": "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQGEZA====",
        "SHA512": "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ"
            + "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQGEZDGNA=",
    ]

    private static func run(_ program: String, _ arguments: [String]) throws -> (status: Int32, text: String)
    {
        let process = Process()
        let output = Pipe()
        process.executableURL = URL(fileURLWithPath: program)
        process.arguments = arguments
        process.standardOutput = output
        process.standardError = FileHandle.nullDevice
        try process.run()
        let text = try output.fileHandleForReading.readToEnd() ?? Data()
        process.waitUntilExit()
        return (process.terminationStatus, String(decoding: text, as: UTF8.self))
    }

    @Test(
        "the codes are those of RFC 6238, appendix B",
        arguments: [
            ("1970-01-01 00:00:59", "SHA1", "94287082"), ("1970-01-01 00:00:59", "SHA256", "46119246"),
            ("1970-01-01 00:00:59", "SHA512", "90693936"), ("2005-03-18 01:58:29", "SHA1", "07081804"),
            ("2005-03-18 01:58:29", "SHA256", "68084774"), ("2005-03-18 01:58:29", "SHA512", "25091201"),
            ("2603-10-11 11:33:20", "SHA1", "65353130"), ("2603-10-11 11:33:20", "SHA512", "47863826"),
        ]
    )
    func vectors(time: String, algorithm: String, code: String) async throws {
        let keychain = try await RealKeychain.ready()
        let uri = "otpauth://totp/x?secret=\(Self.keys[algorithm] ?? "")&algorithm=\(algorithm)&digits=8"
        #expect(try await keychain.run("set", "x", "--require", "none", input: uri).status == 0)
        var run = CommandRun(
            "--exclude-monotonic",
            "-f",
            time,
            Programs.touchstone,
            "totp",
            "x",
            home: keychain.home
        )
        run.program = "/usr/bin/faketime"
        run.environment = ["TZ": "UTC"]
        let result = try await run.run()
        #expect(result.text == code + "\n", "\(result.errors)")
    }

    @Test(
        "a key is added as the site shows it, to a new secret or to one that is there, and makes oathtool's codes",
        .enabled(if: Programs.isBuilt(oathtool), "oathtool is missing"),
        arguments: [
            ("jbsw y3dp-ehpk3pxp\n", "JBSWY3DPEHPK3PXP", "SHA1", 6, 30),
            (
                "otpauth://totp/A:b?secret=JBSWY3DPEHPK3PXP&issuer=A&algorithm=SHA256&digits=8",
                "JBSWY3DPEHPK3PXP", "SHA256", 8, 30
            ),
            (
                "otpauth://TOTP/b?period=60&digits=7&algorithm=sha512&secret=GEZDGNBVGY3TQOJQGE%3D%3D%3D%3D%3D%3D",
                "GEZDGNBVGY3TQOJQGE", "SHA512", 7, 60
            ),
            ("GE", "GE======", "SHA1", 6, 30),
            (String(repeating: "A2", count: 150), String(repeating: "A2", count: 150), "SHA1", 6, 30),
        ],
        [false, true]
    )
    func codes(_ added: (String, String, String, Int, Int), isThere: Bool) async throws {
        let (text, key, algorithm, digits, period) = added
        let keychain = try await RealKeychain.ready()
        if isThere {
            let former = "pass\nuser: me\n"
            #expect(
                try await keychain.run("set", "x", "--exact", "--require", "none", input: former).status == 0
            )
        }
        let result = try await keychain.run("totp", "x", "--add", "--require", "none", input: text)
        #expect(result.status == 0 && result.output.isEmpty, "\(result.errors)")
        if isThere {
            #expect(
                try await keychain.run("get", "x").text.lowercased().hasPrefix(
                    "pass\nuser: me\notpauth://totp/"
                )
            )
        }
        let options = [
            "--totp=\(algorithm)", "--base32", "--digits=\(digits)", "--time-step-size=\(period)s", key,
        ]
        // The time may move on between the two.
        for _ in 0..<5 {
            let expected = try Self.run(Self.oathtool, options).text
            let code = try await keychain.run("totp", "x")
            guard try Self.run(Self.oathtool, options).text == expected else { continue }
            #expect(code.text == expected, "\(code.errors)")
            return
        }
        Issue.record("the machine is too slow for one code")
    }

    @Test("a key is read from a QR code, and from nothing else in an image")
    func image() async throws {
        try #require(Programs.isBuilt("/usr/bin/qrencode") && Programs.isBuilt("/usr/bin/zbarimg"))
        let keychain = try await RealKeychain.ready()
        let place = keychain.home.path + "/-code.png"
        let uri = "otpauth://totp/A%3Ab?secret=JBSWY3DPEHPK3PXP"
        #expect(try Self.run("/usr/bin/qrencode", ["-o", place, uri]).status == 0)
        let stored = try await keychain.run("totp", "x", "--add", "--qr", place, "--require", "none")
        #expect(stored.status == 0, "\(stored.errors)")
        #expect(try await keychain.run("get", "x").text == uri)
        let other = keychain.home.path + "/other.png"
        #expect(try Self.run("/usr/bin/qrencode", ["-o", other, "https://example.org"]).status == 0)
        for (path, words) in [
            (other, "it is another address"), ("/usr/bin/qrencode", "no QR code is found"),
            (keychain.home.path + "/none.png", "No such file"),
        ] {
            let result = try await keychain.run("totp", "y", "--add", "--qr", path)
            #expect(result.status == 1 && result.errors.contains(words), "\(path): \(result.errors)")
        }
        #expect(try await keychain.run("get", "y").status == 3)
    }

    @Test("what is no key is refused before anything is asked or stored, and is not repeated")
    func refused() async throws {
        let keychain = try await RealKeychain.ready()
        #expect(try await keychain.run("set", "x", input: "pass").status == 0)
        let before = keychain.prompts
        for text in [
            "secr3t!", "hunter189", "otpauth://hotp/x?secret=JBSWY3DPEHPK3PXP&counter=1", "otpauth://totp/x",
            "otpauth://totp/x?secret=", "otpauth://totp/x?secret=secr8t",
            "otpauth-migration://offline?data=secret",
            "otpauth://totp/x?secret=GEZA&digits=9", "otpauth://totp/x?secret=GEZA&period=0", "otpauth://",
            "otpauth://totp/x?secret=GEZA&algorithm=MD5", "https://secret.example",
            "otpauth://totp/x?secret=GEZA&encoder=steam",
            "otpauth://totp/x?secret=" + String(repeating: "A", count: 5000),
        ] {
            let result = try await keychain.run("totp", "x", "--add", input: text)
            #expect(result.status == 1, "\(text)")
            #expect(result.errors.hasPrefix("error: this is no key of one-time codes: "), "\(result.errors)")
            #expect(
                !result.errors.contains("secr8t") && !result.errors.contains("secr3t")
                    && !result.errors.contains("hunter")
            )
        }
        #expect(keychain.prompts == before)
        #expect(try await keychain.run("get", "x").text == "pass")
    }

    @Test(
        "without a key the hint's command adds one; a second one needs --replace, and replaces the first in its place"
    )
    func again() async throws {
        let keychain = try await RealKeychain.ready()
        #expect(try await keychain.run("set", "x", "--exact", input: "pass\ntotp: otp\nuser: me").status == 0)
        let missing = try await keychain.run("totp", "x")
        #expect(missing.status == 3 && missing.errors.contains("hint: touchstone totp --add x stores it"))
        #expect(try await keychain.run("totp", "--add", "x", input: "GEZA").status == 0)
        #expect(try await keychain.run("totp", "x").status == 0)
        let second = try await keychain.run("totp", "x", "--add", input: "GEZDGNA")
        #expect(second.status == 10 && second.errors.contains("--replace"))
        #expect(try await keychain.run("totp", "x", "--add", "--replace", input: "GEZDGNA").status == 0)
        #expect(
            try await keychain.run("get", "x").text
                == "pass\ntotp: otp\nuser: me\notpauth://totp/x?secret=GEZDGNA"
        )
        #expect(try await keychain.run("totp", "none").status == 3)
        #expect(try await keychain.run("totp", "x", "--qr", "a").status == 64)
    }

    @Test("a guarded key is released for its requirement, and gopass's form of the line is known")
    func guarded() async throws {
        let keychain = try await RealKeychain.ready()
        let text = "pass\ntotp: otpauth://totp/x?secret=GEZA\n"
        #expect(try await keychain.run("set", "x", input: text).status == 0)
        let before = keychain.prompts
        let code = try await keychain.run("totp", "x")
        #expect(code.status == 0 && code.text.count == 7 && code.errors.isEmpty)
        #expect(keychain.prompts == before + 1)
        try keychain.setCancels(true)
        let cancelled = try await keychain.run("totp", "x")
        #expect(cancelled.status == 4 && cancelled.output.isEmpty)
    }
}
