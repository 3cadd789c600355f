import CLinux
import Glibc
import KeychainModel
import SecretMemory

/// The bytes of another program's export, which hold every secret in plain text.
///
/// They are the one place where an import has secrets outside ``SecretBytes``: a whole export can be larger than the memory that a
/// process may lock. They are excluded from core dumps, locked if they are small, and wiped at the end. Parsers copy no value out of
/// them: they keep places (``ExportText``), and a value goes from its place directly into locked memory.
@safe
final class ExportDocument {
    /// The longest export, in bytes.
    static let longest = 64 << 20
    /// Up to this size the pages are locked, which leaves the rest of the usual 8 MiB (`RLIMIT_MEMLOCK`) to ``SecretBytes``.
    private static let longestLocked = 2 << 20

    /// What the user named, for errors.
    let name: String
    private var pages = unsafe UnsafeMutableRawBufferPointer(start: nil, count: 0)
    private(set) var count = 0
    /// The first byte after a byte order mark.
    private(set) var start = 0

    /// Reads a file; `-` is standard input.
    ///
    /// - Throws: ``CommandError`` if it cannot be read, is too long, or is not UTF-8 without NUL bytes.
    init(_ path: String) throws(CommandError) {
        name = path == "-" ? "standard input" : path
        let descriptor = path == "-" ? STDIN_FILENO : unsafe open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw failure() }
        defer { if path != "-" { close(descriptor) } }
        var status = stat()
        let isFile = unsafe fstat(descriptor, &status) == 0 && status.st_mode & S_IFMT == S_IFREG
        guard !isFile || status.st_size <= Self.longest else { throw tooLong }
        try resize(to: isFile ? Int(status.st_size) + 1 : 1 << 16)
        try read(descriptor)
        try checkText()
    }

    deinit { unsafe release(pages) }

    /// A byte.
    subscript(index: Int) -> UInt8 {
        precondition(index >= 0 && index < count, "outside the export")
        return unsafe pages[index]
    }

    /// Whether the bytes at an index are those of an ASCII text.
    func has(_ text: StaticString, at index: Int) -> Bool {
        guard index + text.utf8CodeUnitCount <= count else { return false }
        return (0..<text.utf8CodeUnitCount).allSatisfy { offset in
            unsafe text.utf8Start[offset] == self[index + offset]
        }
    }

    /// The line of a byte, from 1 on, for errors.
    func line(of index: Int) -> Int { 1 + (0..<min(index, count)).count { self[$0] == 0x0A } }

    private func read(_ descriptor: CInt) throws(CommandError) {
        while true {
            if unsafe count == pages.count { try resize(to: count * 2) }
            let step = unsafe Glibc.read(
                descriptor,
                pages.baseAddress.map { unsafe $0 + count },
                pages.count - count
            )
            if step < 0, errno == EINTR { continue }
            guard step >= 0 else { throw failure() }
            if step == 0 { return }
            count += step
            guard count <= Self.longest else { throw tooLong }
        }
    }

    /// Moves the bytes to new pages and wipes the old ones.
    private func resize(to capacity: Int) throws(CommandError) {
        let flags = MAP_PRIVATE | MAP_ANONYMOUS
        let start = unsafe mmap(nil, capacity, PROT_READ | PROT_WRITE, flags, -1, 0)
        guard let start = unsafe start, unsafe start != MAP_FAILED else {
            throw CommandError("there is no memory for \(name): \(SystemError.name(of: errno))")
        }
        let larger = unsafe UnsafeMutableRawBufferPointer(start: start, count: capacity)
        _ = unsafe madvise(start, capacity, MADV_DONTDUMP)
        // A refusal is no reason to stop: see above.
        if capacity <= Self.longestLocked { _ = unsafe mlock(start, capacity) }
        unsafe larger.copyMemory(from: UnsafeRawBufferPointer(rebasing: pages[..<count]))
        unsafe release(pages)
        unsafe pages = larger
    }

    private func release(_ pages: UnsafeMutableRawBufferPointer) {
        guard let start = pages.baseAddress else { return }
        unsafe clinux_wipe(start, pages.count)
        unsafe munmap(start, pages.count)
    }

    /// Refuses what is no text: every parser here reads UTF-8, and no secret line can hold a NUL byte.
    private func checkText() throws(CommandError) {
        guard count > 0 else { throw CommandError("\(name) is empty", hint: "name the export's file") }
        try checkIsExport()
        if has("\u{FEFF}", at: 0) { start = 3 }
        let octets = unsafe UnsafeRawBufferPointer(rebasing: pages[..<count])
        if let zero = unsafe octets.firstIndex(of: 0) {
            throw CommandError("\(name) has a NUL byte, at byte \(zero)")
        }
        do throws(UTF8.ValidationError) {
            _ = try unsafe UTF8Span(validating: octets.assumingMemoryBound(to: UInt8.self).span)
        } catch {
            throw CommandError(
                "\(name) is not UTF-8, at byte \(error.byteOffsets.lowerBound)",
                hint: "export it again as UTF-8"
            )
        }
    }

    /// Refuses files of which only the program that wrote them makes an export.
    private func checkIsExport() throws(CommandError) {
        func begins(with octets: [UInt8]) -> Bool {
            count >= octets.count && octets.indices.allSatisfy { self[$0] == octets[$0] }
        }
        if begins(with: [0x03, 0xD9, 0xA2, 0x9A]) {
            throw CommandError(
                "\(name) is the encrypted database itself",
                hint: "export it as XML: keepassxc-cli export --format xml, or Database, Export in KeePassXC"
            )
        }
        if begins(with: Array("PK\u{3}\u{4}".utf8)) {
            throw CommandError(
                "\(name) is a zip archive",
                hint: "take the JSON or CSV file out of it, or export one"
            )
        }
        if begins(with: [0xFF, 0xFE]) || begins(with: [0xFE, 0xFF]) {
            throw CommandError("\(name) is UTF-16, not UTF-8", hint: "export it again as UTF-8")
        }
    }

    private var tooLong: CommandError {
        CommandError("\(name) is longer than \(Self.longest >> 20) MiB, the limit for an export")
    }

    private func failure() -> CommandError {
        CommandError(
            "cannot read \(name.isEmpty ? "''" : name): \(SystemError.name(of: errno))",
            hint: "name the export's file, or - for standard input"
        )
    }
}

/// Why an export cannot be read, and where; it quotes nothing.
struct ExportFault: Error {
    let reason: String
    /// The byte; nil if it is about the whole export.
    let place: Int?

    init(_ reason: String, at place: Int? = nil) {
        self.reason = reason
        self.place = place
    }
}

/// The limits of what an export may hold.
enum ExportLimits {
    /// Entries.
    static let mostEntries = 10_000
    /// JSON values, CSV cells or XML elements.
    static let mostValues = 1_000_000
    /// JSON values, XML elements or directories inside each other.
    static let deepest = 64
}
