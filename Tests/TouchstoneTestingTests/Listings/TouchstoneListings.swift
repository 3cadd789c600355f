import Foundation
import Touchstone

/// The biometric manager that guides for Android publish, moved by the article "Moving from Android's BiometricPrompt": capability, prompts,
/// a key, a cipher, removal.
struct AndroidManager {
    private static let alias = "login"
    private let keychain = Keychain.current

    func capability(_ demand: Authenticators) async -> String {
        await said { try await keychain.capability(for: demand).obstacle.map { throw $0 } }
    }

    func authenticate(_ demand: Authenticators) async -> String {
        var prompt: PromptText = "Open the vault"
        prompt.title = "Vault"
        prompt.subtitle = "Savings"
        prompt.cancelLabel = "Not now"
        prompt.timeout = .seconds(30)
        return await said { _ = try await keychain.authenticate(prompt, using: demand) }
    }

    func createKey() async -> String { await said { _ = try await DeviceSealingKey.create(Self.alias) } }

    /// `getCipher` and `doFinal`, to encrypt.
    func seal(_ text: String) async -> (said: String, record: Data?) {
        var record: Data?
        let said = await said { record = try await DeviceSealingKey.find(Self.alias).seal(Data(text.utf8)) }
        return (said, record)
    }

    /// `authenticateWithCryptography`, to decrypt.
    func open(_ record: Data) async -> String {
        var text = ""
        let said = await said {
            text = String(
                decoding: try await DeviceSealingKey.find(Self.alias).open(record, "Open the note"),
                as: UTF8.self
            )
        }
        return said == "ok" ? text : said
    }

    func removeKey() async -> String {
        var outcome = Deletion.wasAbsent
        let said = await said { outcome = try await DeviceSealingKey.delete(Self.alias) }
        return said == "ok" ? "\(outcome)" : said
    }

    /// What the app does when it first runs: the record is what it keeps.
    func firstRun() async -> Data? {
        _ = await createKey()
        return await seal("note").record
    }

    func run(_ kept: Data?) async -> [String] {
        var said = ["strong \(await capability(.strongBiometry))", "weak \(await capability(.weakBiometry))"]
        said.append("credential \(await capability([.weakBiometry, .passcode]))")
        if let kept { said.append("open \(await open(kept))") }
        said.append("prompt \(await authenticate(.weakBiometry))")
        said.append("prompt \(await authenticate([.weakBiometry, .passcode]))")
        said.append("remove \(await removeKey())")
        said.append("seal \(await seal("x").said)")
        said.append("create \(await createKey())")
        let (sealed, record) = await seal("new")
        said.append("seal \(sealed)")
        if let record { said.append("open \(await open(record))") }
        said += ["remove \(await removeKey())", "remove \(await removeKey())"]
        return said
    }
}

/// The storage plug-in of several platforms: `canAuthenticate`, `getStorage`, `read`, `write`, `delete`.
struct StoragePlugin {
    private let store = SecretStore("mystorage", rule: .biometry.acceptingWeakBiometry())

    func canAuthenticate() async -> String {
        await said { try await Keychain.current.capability(for: .weakBiometry).obstacle.map { throw $0 } }
    }

    func read() async -> String {
        var text = ""
        let said = await said {
            text = try await store.read("value", as: String.self, with: "Read the value")
        }
        return said == "ok" ? text : said
    }

    func write(_ text: String) async -> String {
        await said { try await store.write(text, for: "value", with: "Store the value") }
    }

    func delete() async -> String {
        var outcome = Deletion.wasAbsent
        let said = await said { outcome = try await store.delete("value") }
        return said == "ok" ? "\(outcome)" : said
    }

    func run() async -> [String] {
        var said = ["can \(await canAuthenticate())", "read \(await read())", "write \(await write("new"))"]
        said += [
            "read \(await read())", "delete \(await delete())", "read \(await read())",
            "delete \(await delete())",
        ]
        return said
    }
}

/// The result of a call in one word: `ok`, or the error's code.
private func said(_ body: () async throws -> Void) async -> String {
    do {
        try await body()
        return "ok"
    } catch {
        return (error as? TouchstoneError)?.code.rawValue ?? "\(error)"
    }
}
