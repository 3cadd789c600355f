import Glibc
import KeychainModel
import Testing
import TouchstoneTesting

@Suite("Files of the system")
struct SmallFileTests {
    private static let line = Array("1 FLOCK\n".utf8)

    private let directory: TemporaryDirectory

    init() throws { directory = try TemporaryDirectory() }

    private func file(_ bytes: [UInt8]) throws -> String {
        try directory.write(String(decoding: bytes, as: UTF8.self), to: "file")
    }

    @Test(
        "a limit that is reached is an error and not the end of the file",
        arguments: [0, 1, 100, 1 << 14, 1 << 20],
        [-1, 0, 1, 1 << 14]
    )
    func limit(count: Int, room: Int) throws {
        let path = try file([UInt8](repeating: 0x61, count: count))
        let limit = count + room
        guard limit >= 0 else { return }
        let bytes = Result { () throws(UnreadableFile) in try SmallFile.bytes(path, atMost: limit) }
        if room < 0 {
            #expect(bytes == .failure(UnreadableFile(path, .tooLong(limit))))
        } else {
            #expect(bytes == .success([UInt8](repeating: 0x61, count: count)))
        }
    }

    @Test("a line is found after any number of others", arguments: [0, 1, 1000, 500_000])
    func lines(count: Int) throws {
        for ending in ["\n", ""] {
            let bytes =
                [[UInt8]](repeating: Self.line, count: count).flatMap { $0 } + Array("2 it\(ending)".utf8)
            let path = try file(bytes)
            var seen = 0
            let found = try SmallFile.firstLine(of: path) { line in
                seen += 1
                return line.first == UInt8(ascii: "2") ? String(decoding: line, as: UTF8.self) : nil
            }
            #expect(found == "2 it" && seen == count + 1)
            #expect(try SmallFile.firstLine(of: path) { _ -> Bool? in nil } == nil)
        }
    }

    @Test(
        "a long line is read whole or refused",
        arguments: [1 << 13, 1 << 14, 1 << 16, 200_000, 1 << 18, 1 << 20]
    )
    func longLines(count: Int) throws {
        let path = try file(Self.line + [UInt8](repeating: 0x62, count: count) + [0x0A] + Self.line)
        var lengths: [Int] = []
        let result = Result { () throws(UnreadableFile) in
            try SmallFile.firstLine(of: path) { line -> Bool? in
                lengths.append(line.count)
                return nil
            }
        }
        if count < 1 << 18 {
            #expect(lengths == [7, count, 7] && result == .success(nil))
        } else {
            #expect(lengths == [7] && result == .failure(UnreadableFile(path, .tooLong(1 << 18))))
        }
    }

    @Test("a file that is missing, a directory and other text are different errors")
    func failures() throws {
        func reason(_ body: () throws(UnreadableFile) -> String) -> UnreadableFile? {
            do throws(UnreadableFile) {
                _ = try body()
                return nil
            } catch {
                return error
            }
        }
        let missing = reason { () throws(UnreadableFile) in try SmallFile.text("/nowhere/at/all", atMost: 10)
        }
        #expect(missing?.isMissing == true && missing?.number == ENOENT)
        let ended = reason { () throws(UnreadableFile) in
            try SmallFile.value("Uid", of: "/proc/0/status") ?? ""
        }
        #expect(ended?.isMissing == true)
        let path = directory.path
        let other = reason { () throws(UnreadableFile) in try SmallFile.text(path, atMost: 10) }
        #expect(other?.number == EISDIR && other?.isMissing == false)
        #expect(other?.description.contains(path) == true)
        try [0xFF, 0xFE].withUnsafeBytes { bytes in
            let descriptor = open(directory.appending("bytes"), O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
            try #require(write(descriptor, bytes.baseAddress, 2) == 2)
            close(descriptor)
        }
        let bytes = directory.appending("bytes")
        #expect(
            reason { () throws(UnreadableFile) in try SmallFile.text(bytes, atMost: 10) }
                == UnreadableFile(bytes, .malformed)
        )
    }

    @Test("a value is read from its line, and a line that is missing has none")
    func values() throws {
        let path = try file(Array("Name:\tx\nUid:\t1\t2\t3\t4\nUidMap: 7\n".utf8))
        #expect(try SmallFile.value("Uid", of: path) == "1\t2\t3\t4")
        #expect(try SmallFile.value("UidMap", of: path) == "7")
        #expect(try SmallFile.value("Gid", of: path) == nil)
    }
}
