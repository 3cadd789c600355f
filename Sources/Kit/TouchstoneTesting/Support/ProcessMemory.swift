internal import Glibc

/// The readable memory of another process at one moment; needs root.
@safe
package struct ProcessMemory {
    /// A place where bytes were found.
    package struct Place: CustomStringConvertible, Sendable {
        /// The mapping's name; `anonymous` if it has none.
        package let region: String
        /// The address.
        package let address: UInt64
        /// Whether the page can be swapped out, that is, is not locked by mlock(2).
        package let isSwappable: Bool

        package var description: String {
            "\(region) \(String(address, radix: 16))\(isSwappable ? "" : " (locked)")"
        }
    }

    private struct Region {
        let name: String
        let start: UInt64
        let isLocked: Bool
        let octets: [UInt8]
    }

    private var regions: [Region] = []

    /// The number of bytes read.
    package var octetCount: Int { regions.reduce(0) { $0 + $1.octets.count } }

    /// Reads every readable mapping, including code and constants.
    package init(_ process: Int32) throws(TestKitError) {
        let maps = try Self.text(of: "/proc/\(process)/smaps")
        let file = unsafe open("/proc/\(process)/mem", O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { throw TestKitError.system("open mem", errno: errno) }
        defer { close(file) }
        var current: (name: String, start: UInt64, end: UInt64)?
        for line in maps.split(separator: "\n") {
            let fields = line.split(separator: " ", omittingEmptySubsequences: true)
            let ends = fields[0].split(separator: "-").compactMap { UInt64($0, radix: 16) }
            if ends.count == 2 {
                let name = fields.count > 5 ? String(fields[5]) : "anonymous"
                current = fields[1].hasPrefix("r") ? (name, ends[0], ends[1]) : nil
            } else if fields[0] == "VmFlags:", let region = current {
                var octets = [UInt8](repeating: 0, count: Int(region.end - region.start))
                // The kernel's own pages lie above the addresses of a process and cannot be read.
                guard region.start < 1 << 62 else { continue }
                let count = unsafe pread(file, &octets, octets.count, off_t(region.start))
                guard count > 0 else { continue }
                regions.append(
                    Region(
                        name: region.name,
                        start: region.start,
                        isLocked: fields.contains("lo"),
                        octets: Array(octets.prefix(count))
                    )
                )
            }
        }
    }

    /// Reads a whole file of /proc, whose size is reported as 0: Foundation would stop after the first page.
    private static func text(of path: String) throws(TestKitError) -> String {
        let file = unsafe open(path, O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { throw TestKitError.system("open \(path)", errno: errno) }
        defer { close(file) }
        var octets: [UInt8] = []
        var part = [UInt8](repeating: 0, count: 1 << 16)
        while true {
            let count = unsafe read(file, &part, part.count)
            guard count >= 0 else { throw TestKitError.system("read \(path)", errno: errno) }
            if count == 0 { return String(decoding: octets, as: UTF8.self) }
            octets += part[..<count]
        }
    }

    /// All places that contain these bytes.
    package func places(of marker: [UInt8]) -> [Place] {
        var places: [Place] = []
        for region in regions {
            for position in Self.positions(of: marker, in: region.octets) {
                places.append(
                    Place(
                        region: region.name,
                        address: region.start + UInt64(position),
                        isSwappable: !region.isLocked
                    )
                )
            }
        }
        return places
    }

    private static func positions(of marker: [UInt8], in octets: [UInt8]) -> [Int] {
        guard let first = marker.first else { return [] }
        return unsafe octets.withUnsafeBytes { octets in
            guard let base = octets.baseAddress else { return [] }
            var positions: [Int] = []
            var start = 0
            while start + marker.count <= octets.count,
                let found = unsafe memchr(base + start, CInt(first), octets.count - marker.count + 1 - start)
            {
                let position = unsafe UnsafeRawPointer(found) - base
                if unsafe memcmp(found, marker, marker.count) == 0 { positions.append(position) }
                start = position + 1
            }
            return positions
        }
    }
}
