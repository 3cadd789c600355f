import Foundation
import KeychainClient
import KeychainModel
import Testing
import TouchstoneTesting

/// Any single damage to the files that open a keychain whose device secret is in a TPM.
@Suite(
    "With a TPM, after any single damage to the keybag's files or the device key, the passcode opens or the recovery code",
    .serialized,
    .enabled(if: TPMMachine.isThere, "touchstoned or swtpm is missing"),
    .timeLimit(.minutes(CaseSize.of(10, full: 90)))
)
struct DamagedFileTests {
    /// What happens to a file; nil stands for no file.
    private static func damages(to whole: [UInt8]) -> [(name: String, content: [UInt8]?)] {
        var damages: [(String, [UInt8]?)] = [("missing", nil), ("empty", []), ("longer", whole + [0])]
        func add(_ what: String, _ change: (inout [UInt8]) -> Void) {
            var content = whole
            change(&content)
            if content != whole { damages.append((what, content)) }
        }
        add("all zero") { $0 = [UInt8](repeating: 0, count: $0.count) }
        add("cut in half") { $0.removeLast($0.count / 2) }
        for place in stride(from: 0, to: whole.count, by: CaseSize.of(max(1, whole.count / 2 - 1), full: 19))
        {
            add("bit of byte \(place)") { $0[place] ^= 1 << UInt8(place % 8) }
            for length in [36, 512] {
                let range = place..<min(place + length, whole.count)
                add("\(range) zero") { for place in range { $0[place] = 0 } }
            }
        }
        return damages
    }

    @Test("each kind of damage to each file", arguments: ["keybag", "keybag.copy", "device.key"])
    func single(file: String) async throws {
        let machine = try await TPMMachine.ready()
        let keychain = machine.keychain
        try keychain.add("guarded", "kept", .devicePasscode)
        var byRecovery = 0
        let count = Self.damages(to: try Self.octets(file, of: keychain)).count
        for index in 0..<count {
            keychain.stop(with: SIGTERM)
            // A recovery made the files anew: each damage hits those of the last.
            let damage = Self.damages(to: try Self.octets(file, of: keychain))[index]
            try FileManager.default.removeItem(atPath: keychain.file(file))
            if let content = damage.content {
                let isMade = FileManager.default.createFile(
                    atPath: keychain.file(file),
                    contents: Data(content),
                    attributes: [.posixPermissions: 0o600]
                )
                guard isMade else { throw Surprise(damage.name) }
            }
            try await keychain.start()
            let moment: Comment = "\(file), \(damage.name)"
            if keychain.refusal() != nil {
                #expect(try keychain.client.status().keybag == .damaged, moment)
                try keychain.client.recover(keychain.prompt())
                byRecovery += 1
            }
            #expect(try keychain.value("guarded") == "kept", moment)
            // Both files of the keybag are whole again.
            #expect(
                try Self.octets("keybag", of: keychain) == Self.octets("keybag.copy", of: keychain),
                moment
            )
            #expect(try keychain.client.status().assurance >= .test, moment)
            #expect(try await keychain.command("status").status == 0, moment)
        }
        // Either of the keybag's files is enough for the passcode; the device key authenticates both.
        #expect(byRecovery == (file == "device.key" ? count : 0), "of \(count)")
        // The chip has nothing left of the former seals.
        try await machine.restart()
        try keychain.unlock()
        #expect(try keychain.value("guarded") == "kept")
    }

    private static func octets(_ file: String, of keychain: PrivateKeychain) throws -> [UInt8] {
        Array(try Data(contentsOf: URL(fileURLWithPath: keychain.file(file))))
    }
}
