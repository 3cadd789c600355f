import CLinux
import Foundation
import Glibc
import KeychainClient
import KeychainModel
import SecretMemory
import Testing
import TouchstoneTesting

@Suite(
    "Swapping out the daemon's memory",
    .enabled(if: Programs.isBuilt, "touchstoned is not built"),
    .enabled(if: SwapFile.isPossible, "needs root and a place that can be swapped to")
)
struct SwapTests {
    private static let secret = "marker-of-a-stored-secret-4c1e"
    private static let newSecret = "marker-of-a-secret-on-its-way-8a07"

    @Test("memory with secrets is not written to the swap file, with a request and a prompt in progress")
    func noMarkers() async throws {
        let swap = try await SwapFile()
        let keychain = try PrivateKeychain()
        try await keychain.start()
        try keychain.client.setUp(keychain.prompt())
        try Self.add(to: keychain)

        // The user does not answer: the new secret waits in the daemon, and the keys are in memory.
        try keychain.tellPerson([.waits])
        let call = BlockingCall { try Self.update(in: keychain) }
        try await Deadline.wait(for: "the prompt") { Self.isAsking(keychain.processID) ? true : nil }
        let memory = try Memory(of: keychain.processID)
        // Control: the text of the store's schema is in ordinary memory and found in the swap file. A page
        // still being written is found by the second search.
        for _ in 0..<2 {
            try await Deadline.wait(for: "ordinary memory in the swap file") {
                try memory.pageOut()
                return try await swap.octets().range(of: Data("CREATE INDEX items_first".utf8))
            }
        }

        let regions = try memory.regions().filter(\.isLocked)
        #expect(!regions.isEmpty)
        for region in regions { #expect(region.swapped == 0, "\(region.name)") }
        let octets = try await swap.octets()
        for marker in [Self.secret, Self.newSecret, PrivateKeychain.passcode] {
            #expect(octets.range(of: Data(marker.utf8)) == nil, "\(marker)")
        }

        keychain.stop(with: SIGKILL)
        await #expect(throws: KeychainError.self) { try await call.value }
        withExtendedLifetime(swap) {}
    }

    private static func add(to keychain: PrivateKeychain) throws {
        let item = AddItem(
            itemClass: .genericPassword,
            attributes: [.account: .string("swap")],
            accessControl: try AccessControl(accessibility: .whenUnlocked, flags: .devicePasscode),
            data: SecretBytes(copying: Array(secret.utf8)),
            prompt: keychain.prompt()
        )
        _ = try keychain.client.add(item)
        let query = ItemQuery(
            itemClass: .genericPassword,
            attributes: [.account: .string("swap")],
            returns: .data
        )
        #expect(try keychain.client.copy(CopyItems(query: query, prompt: keychain.prompt())).count == 1)
    }

    private static func update(in keychain: PrivateKeychain) throws {
        let change = UpdateItems(
            query: ItemQuery(itemClass: .genericPassword, attributes: [.account: .string("swap")]),
            attributes: [:],
            accessControl: nil,
            data: SecretBytes(copying: Array(newSecret.utf8)),
            prompt: keychain.prompt()
        )
        try keychain.client.update(change)
    }

    /// Whether the prompt program is running, whose script contained the passcode until a moment ago.
    private static func isAsking(_ daemon: Int32) -> Bool {
        let threads = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/\(daemon)/task")) ?? []
        return threads.contains { thread in
            let children = try? String(contentsOf: "/proc/\(daemon)/task/\(thread)/children")
            return (children ?? "").split(separator: " ").contains { child in
                (try? String(contentsOf: "/proc/\(child)/comm")) == "sleep\n"
            }
        }
    }
}

/// The memory of a running process, from proc(5) `smaps`.
private struct Memory {
    struct Region {
        /// The line that begins the region: addresses, permissions and file.
        let name: String
        let addresses: Range<UInt64>
        /// Whether the region is private memory, not backed by a file.
        let isPrivate: Bool
        /// The amount in the swap file, in KiB.
        var swapped = 0
        var isLocked = false
    }

    private let process: Int32
    private let descriptor: CInt

    init(of process: Int32) throws {
        self.process = process
        descriptor = clinux_pidfd_open(process)
        guard descriptor >= 0 else { throw TestFailure.system(errno) }
    }

    func regions() throws -> [Region] {
        var regions: [Region] = []
        for line in try String(contentsOf: "/proc/\(process)/smaps").split(separator: "\n") {
            let fields = line.split(separator: " ")
            if !fields[0].hasSuffix(":") {
                let ends = fields[0].split(separator: "-").compactMap { UInt64($0, radix: 16) }
                guard ends.count == 2 else { throw TestFailure.unexpected(String(line)) }
                regions.append(
                    Region(
                        name: String(line),
                        addresses: ends[0]..<ends[1],
                        isPrivate: fields[1].hasPrefix("rw") && fields[1].hasSuffix("p")
                    )
                )
            } else if fields[0] == "Swap:" {
                regions[regions.count - 1].swapped = Int(fields[1]) ?? 0
            } else if fields[0] == "VmFlags:" {
                regions[regions.count - 1].isLocked = fields.contains("lo")
            }
        }
        return regions
    }

    /// Lets the system swap out all that may be swapped, as it does when memory is short; it refuses locked
    /// regions.
    func pageOut() throws {
        for region in try regions() where region.isPrivate {
            _ = clinux_pages_out(descriptor, region.addresses.lowerBound, region.addresses.count)
        }
    }
}

/// A swap file with the highest priority.
private final class SwapFile: Sendable {
    private static let programs = ["/sbin/mkswap", "/sbin/swapon", "/sbin/swapoff", "/bin/dd"]
    private let directory: TemporaryDirectory

    /// Whether this machine allows a swap file.
    static let isPossible: Bool = {
        guard geteuid() == 0, programs.allSatisfy({ access($0, X_OK) == 0 }) else { return false }
        // Pages that zswap keeps compressed in memory never reach the file.
        let zswap = try? String(contentsOf: "/sys/module/zswap/parameters/enabled")
        guard zswap?.hasPrefix("Y") != true, let directory = try? TemporaryDirectory() else { return false }
        let file = directory.appending("swap")
        guard run(script(file, megabytes: 4)) else { return false }
        defer { _ = run("swapoff \(file)") }
        let length = 1 << 20
        let descriptor = clinux_pidfd_open(getpid())
        let flags = MAP_PRIVATE | MAP_ANONYMOUS
        guard descriptor >= 0, let pages = mmap(nil, length, PROT_READ | PROT_WRITE, flags, -1, 0),
            pages != MAP_FAILED
        else { return false }
        defer {
            munmap(pages, length)
            close(descriptor)
        }
        memset(pages, 1, length)
        guard clinux_pages_out(descriptor, UInt64(UInt(bitPattern: pages)), length) == 0 else { return false }
        let status = (try? String(contentsOf: "/proc/self/status")) ?? ""
        let line = status.split(separator: "\n").first { $0.hasPrefix("VmSwap:") }
        return (line?.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0) > 0
    }()

    private static func run(_ script: String) -> Bool {
        let trial = Process()
        trial.executableURL = URL(fileURLWithPath: "/bin/sh")
        trial.arguments = ["-c", script]
        trial.environment = ["PATH": "/usr/sbin:/usr/bin:/sbin:/bin"]
        (trial.standardOutput, trial.standardError) = (FileHandle.nullDevice, FileHandle.nullDevice)
        guard (try? trial.run()) != nil else { return false }
        trial.waitUntilExit()
        return trial.terminationStatus == 0
    }

    private static func script(_ file: String, megabytes: Int) -> String {
        """
        umask 077 && dd if=/dev/zero of=\(file) bs=1M count=\(megabytes) && mkswap \(file) && \
        swapon --priority 32767 \(file)
        """
    }

    init() async throws {
        directory = try TemporaryDirectory()
        try await run(Self.script(directory.appending("swap"), megabytes: 64))
    }

    /// The file's content, read past the page cache, which lacks what the system swapped out.
    func octets() async throws -> Data {
        let copy = directory.appending("copy")
        try await run("dd if=\(directory.appending("swap")) of=\(copy) bs=1M iflag=direct")
        return try Data(contentsOf: URL(fileURLWithPath: copy))
    }

    deinit {
        // A swap file in use cannot be removed.
        let off = try? Process.run(
            URL(fileURLWithPath: "/sbin/swapoff"),
            arguments: [directory.appending("swap")]
        )
        off?.waitUntilExit()
    }

    private func run(_ script: String) async throws {
        let finished = try await Finished.running(
            ["/bin/sh", "-c", script],
            environment: ["PATH": "/usr/sbin:/usr/bin:/sbin:/bin"]
        )
        guard finished.status == 0 else { throw TestFailure.unexpected(finished.output) }
    }
}
