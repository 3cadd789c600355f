import Glibc
import KeychainClient
import KeychainModel
import SecretMemory
import Testing
import TouchstoneTesting

@Suite("Modes of the daemon's files", .enabled(if: Programs.isBuilt, "touchstoned is not built"))
struct FileModeTests {
    /// An entry of a directory tree, with the bits of its mode.
    private struct Entry {
        let path: String
        let isDirectory: Bool
        let mode: mode_t
    }

    private static func tree(_ path: String) throws -> [Entry] {
        var status = stat()
        guard lstat(path, &status) == 0 else { throw TestFailure.system(errno) }
        let isDirectory = status.st_mode & S_IFMT == S_IFDIR
        let entry = Entry(path: path, isDirectory: isDirectory, mode: status.st_mode & 0o7777)
        guard isDirectory else { return [entry] }
        guard let directory = opendir(path) else { throw TestFailure.system(errno) }
        defer { closedir(directory) }
        var entries = [entry]
        while let next = readdir(directory) {
            let name = withUnsafeBytes(of: next.pointee.d_name) {
                String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self)
            }
            if name != ".", name != ".." { entries += try tree(path + "/" + name) }
        }
        return entries
    }

    @Test(
        "only the user has access to any of them, whatever the umask, from the first start on",
        arguments: ["0000", "0022", "0777"]
    )
    func umask(mask: String) async throws {
        let keychain = try PrivateKeychain()
        let wrapper = ["/bin/sh", "-c", "umask \(mask); exec \"$@\"", "sh"]
        func check(_ when: String) throws {
            for entry in try Self.tree(keychain.layout.dataDirectory) {
                #expect(entry.mode == (entry.isDirectory ? 0o700 : 0o600), "\(entry.path) \(when)")
            }
            let socket = keychain.layout.socket
            let place = socket.split(separator: "/").dropLast().reduce("") { $0 + "/" + $1 }
            let around = try Self.tree(place)
            #expect(around.first?.mode == 0o700 && around.contains { $0.path == socket }, "\(place) \(when)")
        }
        try await keychain.start(through: wrapper)
        try check("before the set-up")
        try keychain.client.setUp(keychain.prompt())
        let item = AddItem(
            itemClass: .genericPassword,
            attributes: [.account: .string("ann"), .service: .string("test")],
            accessControl: try AccessControl(accessibility: .whenUnlocked, flags: .devicePasscode),
            data: SecretBytes(copying: Array("secret".utf8)),
            prompt: keychain.prompt()
        )
        _ = try keychain.client.add(item)
        try check("unlocked")
        try keychain.client.lock()
        try check("locked")
        keychain.stop(with: SIGTERM)
        let paths = try Self.tree(keychain.layout.dataDirectory).map(\.path)
        for name in ["keybag", "attempts", "device.key", "items.sqlite"] {
            #expect(paths.contains(keychain.layout.dataDirectory + "/" + name))
        }
        try await keychain.start(through: wrapper)
        let query = ItemQuery(
            itemClass: .genericPassword,
            attributes: [.account: .string("ann")],
            returns: .data
        )
        #expect(try keychain.client.copy(CopyItems(query: query, prompt: keychain.prompt())).count == 1)
        try check("unlocked after a restart")
    }
}
