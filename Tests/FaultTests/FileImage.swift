import Foundation
import TouchstoneTesting

/// The files of a keychain at one moment.
struct FileImage: Hashable {
    var files: [String: [UInt8]] = [:]

    init() {}

    /// Reads all files of a directory that is not being written.
    init(of directory: String) throws {
        for name in try FileManager.default.contentsOfDirectory(atPath: directory) {
            files[name] = Array(try Data(contentsOf: URL(fileURLWithPath: directory + "/" + name)))
        }
    }

    /// Replaces a directory's content by these files.
    func write(to directory: String) throws {
        let manager = FileManager.default
        if !manager.fileExists(atPath: directory) {
            let mode: [FileAttributeKey: Any] = [.posixPermissions: 0o700]
            try manager.createDirectory(
                atPath: directory,
                withIntermediateDirectories: false,
                attributes: mode
            )
        }
        for name in try manager.contentsOfDirectory(atPath: directory) {
            try manager.removeItem(atPath: directory + "/" + name)
        }
        for (name, octets) in files {
            let mode: [FileAttributeKey: Any] = [.posixPermissions: 0o600]
            let isMade = manager.createFile(
                atPath: directory + "/" + name,
                contents: Data(octets),
                attributes: mode
            )
            guard isMade else { throw TestKitError.unexpected("\(name) cannot be made") }
        }
    }

    /// A copy with one bit of a file flipped.
    func flipped(_ name: String, bit: Int) -> FileImage {
        var image = self
        image.files[name]?[bit / 8] ^= 1 << UInt8(bit % 8)
        return image
    }

    /// A hash of the files.
    var digest: Int {
        var hasher = Hasher()
        for (name, octets) in files.sorted(by: { $0.key < $1.key }) {
            hasher.combine(name)
            hasher.combine(octets.count)
            octets.withUnsafeBytes { hasher.combine(bytes: $0) }
        }
        return hasher.finalize()
    }

    /// The names of files that differ.
    func differences(from other: FileImage) -> [String] {
        Set(files.keys).union(other.files.keys).filter { files[$0] != other.files[$0] }.sorted()
    }

    /// The names of files that contain `marker`.
    func holds(_ marker: String) -> [String] {
        files.filter { Data($0.value).range(of: Data(marker.utf8)) != nil }.keys.sorted()
    }
}
