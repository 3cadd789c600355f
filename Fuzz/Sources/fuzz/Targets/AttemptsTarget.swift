import CBOR
import Glibc
import KeychainModel
import Primitives

@testable import KeychainEngine

/// The two slots of the file of failed attempts, read as after a daemon's start.
///
/// The input is a byte that says which parts of the slots are valid, then their contents, half each.
enum AttemptsTarget: FuzzTarget {
    static let name = "attempts"

    /// The layout of `AttemptFile`, where it is private.
    private enum Slot {
        static let distance = 4096
        static let contentByteCount = 512 - KeyedDigest.byteCount
    }

    private static let store = Store()

    static func run(_ input: Span<UInt8>) {
        guard input.count > 0 else { return }
        let flags = input[0]
        let rest = Array(input.array.dropFirst())
        let half = rest.count / 2
        store.write(
            slots: [Array(rest[..<half]), Array(rest[half...])],
            validCodes: [flags & 1 == 0, flags & 2 == 0]
        )
        // As after a start: no state of another file is remembered.
        let attempts = store.attempts()
        do throws(KeychainError) {
            let record = try attempts.load()
            require(flags & 3 != 3, "a slot counts only with its code")
            try attempts.save(record)
            _ = try attempts.load()
        } catch {
            require(error.status == .decode, "a damaged file is damaged, not \(error)")
        }
    }

    /// A private directory below `TMPDIR`, which `Scripts/fuzz` creates and removes.
    private final class Store: Sendable {
        private let directory: StoreDirectory
        private let key: Key

        func attempts() -> AttemptFile { AttemptFile(directory: directory) }

        init() {
            let place = unsafe getenv("TMPDIR").map { unsafe String(cString: $0) } ?? "/tmp"
            var template = Array("\(place)/touchstone-fuzz-XXXXXX".utf8CString)
            guard unsafe mkdtemp(&template) != nil else { fatalError("mkdtemp: errno \(errno)") }
            let path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
            do {
                directory = try StoreDirectory(path: path)
                try AttemptFile(directory: directory).save(AttemptRecord())
                guard let key = try DeviceKeyFile(directory: directory).key(.attemptsCode) else {
                    fatalError("no device key")
                }
                self.key = key
            } catch {
                fatalError("\(error)")
            }
        }

        func write(slots: [[UInt8]], validCodes: [Bool]) {
            // Opened each time: a save after the highest possible number takes the file for an older one, and replaces
            // it.
            guard let file = try? directory.openFile(StoreFile.attempts.rawValue, O_RDWR) else {
                fatalError("no file of attempts")
            }
            defer { close(file) }
            for (index, slot) in slots.enumerated() {
                var content = Array(slot.prefix(Slot.contentByteCount))
                content += [UInt8](repeating: 0, count: Slot.contentByteCount - content.count)
                var code = KeyedDigest.of(content, key: key)
                if !validCodes[index] { code[0] ^= 1 }
                let octets = content + code
                let count = unsafe pwrite(file, octets, octets.count, off_t(index * Slot.distance))
                guard count == octets.count else { fatalError("pwrite: errno \(errno)") }
            }
        }
    }

    static func seeds() -> [[UInt8]] {
        var seeds: [[UInt8]] = []
        for (sequence, failures) in [(1, 0), (2, 4), (3, 10), (UInt64.max, 5)] {
            for time in [nil, ("b", 5), ("8a0d0d1e-3f5c-4f0e-9c1e-2f4c8a6a7b11", Int64.max)]
                as [(String, Int64)?]
            {
                let first = slot(0, sequence, failures, time)
                let second = slot(1, sequence &+ 1, failures + 1, time)
                let padded = max(first.count, second.count)
                let both = pad(first, padded) + pad(second, padded)
                for flags in UInt8(0)...3 { seeds.append([flags] + both) }
            }
        }
        let whole = seeds[16]
        return seeds + damaged(whole, most: 12)
    }

    private static func pad(_ octets: [UInt8], _ count: Int) -> [UInt8] {
        octets + [UInt8](repeating: 0, count: count - octets.count)
    }

    private static func slot(_ index: Int, _ sequence: UInt64, _ failures: Int, _ time: (String, Int64)?)
        -> [UInt8]
    {
        cbor { writer in
            writer.writeArrayHead(count: 8)
            writer.write(unsigned: 1)
            writer.write(index)
            writer.write(unsigned: sequence)
            writer.write(failures)
            writer.write(failures)
            for _ in 0..<3 {
                guard let time else {
                    writer.writeNull()
                    continue
                }
                writer.writeArrayHead(count: 2)
                writer.write(text: time.0)
                writer.write(time.1)
            }
        }
    }
}
