import Foundation
import Glibc
import KeychainModel
import Testing

@testable import KeychainEngine

@Suite("An unsafe store directory or file is refused")
struct StoreDirectoryTests {
    let keychain = TestKeychain()

    @Test("a new directory is created with its parents, with mode 0700")
    func made() throws {
        let path = keychain.path + "/deeper/still"
        let directory = try StoreDirectory(path: path)
        #expect(directory.path == path)
        let attributes = try FileManager.default.attributesOfItem(atPath: path)
        #expect(attributes[.posixPermissions] as? Int == 0o700)
    }

    @Test("a directory accessible to others is refused", arguments: [0o777, 0o755, 0o710, 0o1700])
    func openDirectory(mode: Int) throws {
        unsafe mkdir(keychain.path, 0o700)
        unsafe chmod(keychain.path, mode_t(mode))
        #expect(throws: KeychainError(.notAvailable)) { try StoreDirectory(path: keychain.path) }
    }

    @Test("a directory behind a symbolic link is refused")
    func linkedDirectory() throws {
        let link = keychain.path + "-link"
        defer { unsafe unlink(link) }
        _ = try StoreDirectory(path: keychain.path)
        unsafe symlink(keychain.path, link)
        #expect(throws: KeychainError(.notAvailable)) { try StoreDirectory(path: link) }
    }

    @Test("a second process is refused while the first one is running")
    func second() throws {
        var first: StoreDirectory? = try StoreDirectory(path: keychain.path)
        #expect(throws: KeychainError(.notAvailable)) { try StoreDirectory(path: keychain.path) }
        #expect(first != nil)
        first = nil
        _ = try StoreDirectory(path: keychain.path)
    }

    @Test(
        "links, FIFOs and files readable by others are refused, for every file",
        arguments: ["keybag", "device.key", "attempts", "items.sqlite"]
    )
    func tricks(name: String) async throws {
        var (engine, _): (KeychainEngine?, PasscodeKey?) = try await keychain.setUp()
        await engine?.close()
        engine = nil
        let file = keychain.file(name)
        let aside = keychain.file("aside")
        func expectRefusal(_ trick: String) {
            #expect(throws: KeychainError(.notAvailable), "\(trick)") { try keychain.start() }
        }
        unsafe chmod(file, 0o644)
        expectRefusal("readable by others")
        unsafe chmod(file, 0o600)
        unsafe link(file, aside)
        expectRefusal("a second name")
        unsafe unlink(aside)
        unsafe rename(file, aside)
        unsafe symlink(aside, file)
        expectRefusal("a symbolic link")
        unsafe unlink(file)
        unsafe mkfifo(file, 0o600)
        expectRefusal("a pipe")
        unsafe unlink(file)
        unsafe mkdir(file, 0o700)
        expectRefusal("a directory")
        unsafe rmdir(file)
        unsafe rename(aside, file)
        if geteuid() == 0 {
            unsafe chown(file, 65534, 65534)
            expectRefusal("another user's")
            unsafe chown(file, 0, 0)
        }
        let next = try await keychain.restart()
        #expect(await next.state() == .unlocked)
    }

    @Test("all files of a store have mode 0600")
    func modes() async throws {
        let (engine, _) = try await keychain.setUp()
        try await engine.add("ann")
        for name in try FileManager.default.contentsOfDirectory(atPath: keychain.path) {
            let attributes = try FileManager.default.attributesOfItem(atPath: keychain.file(name))
            #expect(attributes[.posixPermissions] as? Int == 0o600, "\(name)")
        }
    }

    @Test("what an interrupted write left is removed at the start, for every small file")
    func unfinished() async throws {
        var (engine, _): (KeychainEngine?, PasscodeKey?) = try await keychain.setUp()
        await engine?.close()
        engine = nil
        let names = [
            "keybag", "keybag.copy", "device.key", "tpm.notes", "attempts", "import", "repair", "setup",
        ]
        for name in names {
            let made = FileManager.default.createFile(
                atPath: keychain.file(name + ".new"),
                contents: Data([1, 2, 3]),
                attributes: [.posixPermissions: 0o600]
            )
            #expect(made)
        }
        let next = try await keychain.restart()
        #expect(await next.state() == .unlocked)
        let left = try FileManager.default.contentsOfDirectory(atPath: keychain.path)
        #expect(!left.contains { $0.hasSuffix(".new") }, "\(left)")
    }

    @Test("a directory that another daemon holds, and one that cannot be locked, have sentences of their own")
    func locks() throws {
        let first = try StoreDirectory(path: keychain.path)
        let error = #expect(throws: KeychainError.self) { try StoreDirectory(path: keychain.path) }
        #expect(error?.cause?.code == "another touchstoned uses the directory")
        withExtendedLifetime(first) {}
        #expect(FileError.name(ENOLCK) == "ENOLCK")
        #expect(
            StoreDirectory.lockFailure(ENOLCK)?.cause?.code
                == "its file system cannot lock the directory: ENOLCK"
        )
        #expect(StoreDirectory.lockFailure(EWOULDBLOCK) == nil)
    }

    @Test(
        "items on a disk that cannot be written or fails are not told as damaged",
        arguments: [EROFS, EACCES, EIO, ENOSPC]
    )
    func disk(number: CInt) async throws {
        let (engine, _) = try await keychain.setUp()
        engine.items.withState { state in
            state.store = nil
            state.fault = FileError.keychainError(number)
        }
        let faults = await engine.storeFaults()
        #expect(faults.count == 1)
        #expect(faults.first?.contains(FileError.name(number)) == true, "\(faults)")
        #expect(faults.first?.contains("damaged") == false, "\(faults)")
        #expect(engine.items.itemsFault() == DriverCause(domain: "system", code: FileError.name(number)))
    }
}
