import Foundation
import KeychainClient
import KeychainModel
import TouchstoneTesting

/// A copy of a keychain's files except its items, as they were under a former passcode.
struct FormerKeybag {
    private let files: DataCopy

    /// Copies the files; the daemon must be stopped.
    init(of keychain: PrivateKeychain) throws {
        let names = try FileManager.default.contentsOfDirectory(atPath: keychain.layout.dataDirectory)
        let others = names.filter { !$0.hasPrefix("items") && !$0.hasPrefix("daemon") }
        files = try DataCopy(of: keychain, Set(others))
    }

    /// Whether a passcode opens these files beside the present items; the present ones are put back afterwards.
    func opens(
        _ keychain: PrivateKeychain,
        with passcode: String,
        withoutNotes: Bool = false
    ) async throws -> Bool {
        keychain.stop(with: SIGTERM)
        let present = try DataCopy(of: keychain)
        try files.put(into: keychain)
        if withoutNotes { try keychain.removeNotes() }
        try await keychain.start()
        try keychain.tellPerson([.types(passcode), .cancels])
        let isOpen = (try? keychain.unlock()) != nil
        let state = try keychain.client.status().keybag
        keychain.stop(with: SIGTERM)
        try present.put(into: keychain)
        try await keychain.start()
        return isOpen || state == .unlocked
    }
}

extension PrivateKeychain {
    /// Removes the driver's notes of the chip's indices, with the daemon stopped.
    func removeNotes() throws {
        let notes = file("tpm.notes")
        if FileManager.default.fileExists(atPath: notes) { try FileManager.default.removeItem(atPath: notes) }
    }
}
