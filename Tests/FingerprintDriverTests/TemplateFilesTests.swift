import Foundation
import SystemFacts
import Testing
import TouchstoneTesting

@Suite("Template files")
struct TemplateFilesTests {
    private let directory: TemporaryDirectory
    private let files: TemplateFiles

    init() throws {
        directory = try TemporaryDirectory()
        for name in ["jo", "jo/driver", "jo/driver/0", "other"] { _ = try directory.makeDirectory(name) }
        files = TemplateFiles(directory: directory.path, user: "jo")
    }

    @Test("another content, a new file with the same content, and another name each change the records")
    func changes() throws {
        _ = try directory.write("template", to: "jo/driver/0/7")
        let first = try #require(files.records(expectingSome: true))
        #expect(files.records(expectingSome: true) == first)

        // Kept under another name, so that the new file cannot get the old one's inode.
        try FileManager.default.moveItem(
            atPath: directory.appending("jo/driver/0/7"),
            toPath: directory.appending("other/7")
        )
        _ = try directory.write("template", to: "jo/driver/0/7")
        let replaced = try #require(files.records(expectingSome: true))
        #expect(replaced != first)

        _ = try directory.write("Template", to: "jo/driver/0/7")
        let changed = try #require(files.records(expectingSome: true))
        #expect(changed != replaced)

        try FileManager.default.moveItem(
            atPath: directory.appending("jo/driver/0/7"),
            toPath: directory.appending("jo/driver/0/8")
        )
        #expect(files.records(expectingSome: true) != changed)
    }

    @Test("another user's files do not count")
    func otherUsers() throws {
        _ = try directory.write("template", to: "jo/driver/0/7")
        let first = files.records(expectingSome: true)
        _ = try directory.write("template", to: "other/7")
        #expect(files.records(expectingSome: true) == first)
    }

    @Test("no file for a known finger means that the templates are elsewhere")
    func elsewhere() {
        #expect(files.records(expectingSome: true) == nil)
        #expect(files.records(expectingSome: false) != nil)
        #expect(TemplateFiles(directory: "/nonexistent", user: "jo").records(expectingSome: false) == nil)
        #expect(TemplateFiles(directory: directory.path, user: "../jo").records(expectingSome: false) == nil)
    }

    @Test("large files count by size and time, so that records stay small")
    func limit() throws {
        let path = try directory.write(String(repeating: "x", count: 3 << 20), to: "jo/driver/0/7")
        let first = try #require(files.records(expectingSome: true))
        #expect(first.count < 2 << 20)
        let handle = try #require(FileHandle(forWritingAtPath: path))
        try handle.seekToEnd()
        try handle.write(contentsOf: Data("y".utf8))
        try handle.close()
        #expect(files.records(expectingSome: true) != first)
    }

    @Test("symbolic links are not followed")
    func links() throws {
        try FileManager.default.createSymbolicLink(
            atPath: directory.appending("jo/driver/0/7"),
            withDestinationPath: "/etc/passwd"
        )
        #expect(files.records(expectingSome: true) == nil)
    }
}
