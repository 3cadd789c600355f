import Foundation
import Glibc
import KeychainClient
import KeychainModel
import SecretMemory
import Testing
import TouchstoneTesting

@Suite(
    "Memory that the system takes from the daemon",
    .enabled(if: Programs.isBuilt, "touchstoned is not built"),
    .enabled(if: SwapFile.isPossible, "needs root and a place that can be swapped to"),
    .enabled(if: MemoryGroup.isPossible, "needs root and the memory controller")
)
struct SwapTests {
    private static let secret = "marker-of-a-stored-secret-4c1e"
    private static let newSecret = "marker-of-a-secret-on-its-way-8a07"

    @Test("none of it that holds secrets is written to the swap file, with a request and a prompt under way")
    func noMarkers() async throws {
        let swap = try await SwapFile()
        let group = try MemoryGroup()
        let keychain = try TemporaryKeychain()
        try await keychain.start(through: group.wrapper)
        try keychain.client.setUp(keychain.prompt())
        try Self.add(to: keychain)

        // The person is asked and does nothing: the new secret waits in the daemon, the keys are there.
        try keychain.tellPerson([.waits])
        let call = Task.detached { try Self.update(in: keychain) }
        // Until then the prompt's program has the passcode in its script.
        try await Deadline.wait(for: "the prompt") {
            group.programs == ["sleep", "touchstoned-tes"] ? true : nil
        }
        // One squeeze takes pages of files first, and gives up soon.
        let end = ContinuousClock.now + Deadline.patience
        repeat {
            try await group.squeeze()
        } while Self.swapped(keychain.processID) <= 256 && ContinuousClock.now < end
        try await Deadline.wait(for: "pages of the daemon in the swap file") {
            Self.swapped(keychain.processID) > 256 ? true : nil
        }

        let regions = try Self.lockedRegions(keychain.processID)
        #expect(!regions.isEmpty)
        for region in regions { #expect(region.swapped == 0, "\(region.name)") }
        let octets = try await swap.octets()
        // The look would see something: the text of the store's schema lies in ordinary memory.
        #expect(octets.range(of: Data("CREATE INDEX items_first".utf8)) != nil)
        for marker in [Self.secret, Self.newSecret, TemporaryKeychain.passcode] {
            #expect(octets.range(of: Data(marker.utf8)) == nil, "\(marker)")
        }

        keychain.stop(with: SIGKILL)
        await #expect(throws: KeychainError.self) { try await call.value }
        try await group.remove()
        withExtendedLifetime(swap) {}
    }

    private static func add(to keychain: TemporaryKeychain) throws {
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

    private static func update(in keychain: TemporaryKeychain) throws {
        let change = UpdateItems(
            query: ItemQuery(itemClass: .genericPassword, attributes: [.account: .string("swap")]),
            attributes: [:],
            accessControl: nil,
            data: SecretBytes(copying: Array(newSecret.utf8)),
            prompt: keychain.prompt()
        )
        try keychain.client.update(change)
    }

    /// How much of a process is in the swap file, in KiB.
    private static func swapped(_ process: Int32) -> Int {
        let status = (try? String(contentsOf: "/proc/\(process)/status")) ?? ""
        let line = status.split(separator: "\n").first { $0.hasPrefix("VmSwap:") }
        return line.flatMap { Int($0.split(separator: " ")[1]) } ?? 0
    }

    /// How much of each locked region of a process is in the swap file, in KiB: proc(5), `smaps`.
    private static func lockedRegions(_ process: Int32) throws -> [(name: String, swapped: Int)] {
        var regions: [(String, Int)] = []
        var (name, swapped) = ("", 0)
        for line in try String(contentsOf: "/proc/\(process)/smaps").split(separator: "\n") {
            let fields = line.split(separator: " ")
            switch fields[0] {
            case "Swap:": swapped = Int(fields[1]) ?? 0
            case "VmFlags:": if fields.contains("lo") { regions.append((name, swapped)) }
            case let first where !first.hasSuffix(":"): name = String(line)
            default: break
            }
        }
        return regions
    }
}

/// A file that the system swaps to before all others.
private final class SwapFile: Sendable {
    private static let programs = ["/sbin/mkswap", "/sbin/swapon", "/sbin/swapoff", "/bin/dd"]
    private let directory: TemporaryDirectory

    /// Whether this machine lets us swap to a file of ours.
    static let isPossible: Bool = {
        guard geteuid() == 0, programs.allSatisfy({ access($0, X_OK) == 0 }) else { return false }
        // Pages that stay compressed in memory are never in the file.
        let zswap = try? String(contentsOf: "/sys/module/zswap/parameters/enabled")
        guard zswap?.hasPrefix("Y") != true, let directory = try? TemporaryDirectory() else { return false }
        let file = directory.appending("swap")
        let trial = Process()
        trial.executableURL = URL(fileURLWithPath: "/bin/sh")
        trial.arguments = ["-c", script(file, megabytes: 1) + " && swapoff \(file)"]
        trial.environment = ["PATH": "/usr/sbin:/usr/bin:/sbin:/bin"]
        (trial.standardOutput, trial.standardError) = (FileHandle.nullDevice, FileHandle.nullDevice)
        guard (try? trial.run()) != nil else { return false }
        trial.waitUntilExit()
        return trial.terminationStatus == 0
    }()

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

    /// What is in it, past the page cache, which does not know what the system wrote.
    func octets() async throws -> Data {
        let copy = directory.appending("copy")
        try await run("dd if=\(directory.appending("swap")) of=\(copy) bs=1M iflag=direct")
        return try Data(contentsOf: URL(fileURLWithPath: copy))
    }

    deinit {
        // A file in use cannot go.
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

/// A memory control group: what is started in it can be made to give up its memory.
private struct MemoryGroup {
    private static let first = "/sys/fs/cgroup/memory"
    private static let second = "/sys/fs/cgroup"
    private let path: String

    /// Whether there is a memory controller, of either version, that we may use.
    static var isPossible: Bool { (try? MemoryGroup()).map { rmdir($0.path) == 0 } ?? false }

    init() throws {
        let isFirst = access(Self.first + "/memory.limit_in_bytes", F_OK) == 0
        path = "\(isFirst ? Self.first : Self.second)/touchstone-test-\(UUID().uuidString)"
        guard mkdir(path, 0o755) == 0 else { throw TestFailure.system(errno) }
        guard access(limit, F_OK) == 0 else {
            rmdir(path)
            throw TestFailure.unexpected("no memory controller")
        }
    }

    private var limit: String {
        let first = path + "/memory.limit_in_bytes"
        return access(first, F_OK) == 0 ? first : path + "/memory.high"
    }

    /// A command that runs another in the group.
    var wrapper: [String] { ["/bin/sh", "-c", "echo $$ > \(path)/cgroup.procs && exec \"$@\"", "sh"] }

    /// The names of the programs that run in the group.
    var programs: [String] {
        let processes = (try? String(contentsOf: path + "/cgroup.procs"))?.split(separator: "\n") ?? []
        return processes.compactMap { process in
            (try? String(contentsOf: "/proc/\(process)/comm")).map { String($0.dropLast()) }
        }.sorted()
    }

    /// Takes from the group's processes all memory but a little.
    func squeeze() async throws {
        // It says that the limit cannot be kept, where not enough can be taken.
        _ = try await Finished.running(["/bin/sh", "-c", "echo 1M > \(limit)"])
    }

    /// Removes the group, whose processes have ended.
    func remove() async throws {
        try await Deadline.wait(for: "the group's end") { rmdir(path) == 0 ? true : nil }
    }
}
