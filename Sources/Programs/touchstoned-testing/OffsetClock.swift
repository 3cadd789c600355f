import Glibc
import KeychainModel

/// The machine's clock, moved forward by the nanoseconds in a file that is read at each use.
struct OffsetClock: BootClock {
    let file: String
    private let machine = SystemBootClock()

    init(file: String) { self.file = file }

    func now() -> BootTime { machine.now().advanced(by: .nanoseconds(offset)) }

    private var offset: Int64 {
        let descriptor = unsafe open(file, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return 0 }
        defer { close(descriptor) }
        var octets = [UInt8](repeating: 0, count: 32)
        let count = unsafe read(descriptor, &octets, octets.count)
        guard count > 0 else { return 0 }
        return Int64(String(decoding: octets[..<count].prefix { $0 > 0x20 }, as: UTF8.self)) ?? 0
    }
}
