import Foundation
import Glibc
import Testing
import TouchstoneTesting

/// A command's changes to names and files, as recorded by strace(1) with `-y`.
///
/// The recording is replayed up to a power loss, with unsynced changes lost.
///
/// The two directories may be on two disks. Each disk keeps the order of changes to its names, and loses the
/// last ones unless the directory was synced; a file has its content once it was synced itself.
struct MoveRecording {
    enum Entry: Equatable { case directory, file(Int) }
    typealias Tree = [String: Entry]

    private enum Change {
        case make(String, Entry)
        case rename(String, String)
        case remove(String)

        func apply(to tree: inout Tree) {
            switch self {
            case .make(let path, let entry): tree[path] = entry
            case .remove(let path): tree[path] = nil
            case .rename(let from, let to):
                for (path, entry) in tree where path == from || path.hasPrefix(from + "/") {
                    tree[path] = nil
                    tree[to + path.dropFirst(from.count)] = entry
                }
            }
        }

        var directories: Set<String> {
            switch self {
            case .make(let path, _), .remove(let path): [Self.parent(path)]
            case .rename(let from, let to): [Self.parent(from), Self.parent(to)]
            }
        }

        private static func parent(_ path: String) -> String { (path as NSString).deletingLastPathComponent }
    }

    /// One of the two disks: its initial names, and each change with its moment.
    private struct Disk {
        var first: Tree
        var changes: [(moment: Int, change: Change)] = []
        /// The number of durable changes at each moment.
        var durable: [(moment: Int, count: Int)] = []

        /// All possible states after a power loss at a moment.
        func trees(at moment: Int) -> [Tree] {
            let done = changes.count { $0.moment <= moment }
            let least = durable.last { $0.moment <= moment }?.count ?? 0
            var tree = first
            var trees: [Tree] = []
            for count in 0...done {
                if count > 0 { changes[count - 1].change.apply(to: &tree) }
                if count >= least { trees.append(tree) }
            }
            return trees
        }
    }

    private var disks: [Disk]
    /// When each file's content became durable; from the beginning for files that existed.
    private var whole: [Int: Int] = [:]
    private(set) var moments = 0

    /// Reads a log; `ignoring` drops the syncs of paths with this suffix, as if the program had forgotten
    /// them.
    init(log: String, own: String, system: String, ownTree: Tree, systemTree: Tree, ignoring: String? = nil)
        throws
    {
        disks = [Disk(first: ownTree), Disk(first: systemTree)]
        for case .file(let number) in Array(ownTree.values) + Array(systemTree.values) { whole[number] = 0 }
        var now = [ownTree, systemTree]
        var next = 1_000_000
        for line in try String(contentsOfFile: log, encoding: .utf8).split(separator: "\n") {
            guard let call = Call(line) else { continue }
            moments += 1
            let moment = moments
            func disk(_ path: String) -> Int? {
                path == own || path.hasPrefix(own + "/") ? 0 : path.hasPrefix(system) ? 1 : nil
            }
            var change: Change?
            switch call.name {
            case "mkdir", "mkdirat": change = call.entries.first.map { .make($0, .directory) }
            case "openat" where call.text.contains("O_CREAT"):
                next += 1
                change = call.result.map { .make($0, .file(next)) }
            case "renameat":
                if call.entries.count == 2 { change = .rename(call.entries[0], call.entries[1]) }
            case "unlinkat": change = call.entries.first.map { .remove($0) }
            case "sendfile", "write":
                if let path = call.places.first, let index = disk(path),
                    case .file(let number) = now[index][path]
                {
                    whole[number] = nil
                }
            case "fsync", "fdatasync":
                guard let path = call.places.first, let index = disk(path) ?? (path == "/var/lib" ? 1 : nil)
                else { break }
                if let ignoring, path.hasSuffix(ignoring) { break }
                if case .file(let number) = now[index][path] {
                    whole[number] = whole[number] ?? moment
                } else if let last = disks[index].changes.lastIndex(where: {
                    $0.change.directories.contains(path)
                }) {
                    disks[index].durable.append(
                        (moment, max(last + 1, disks[index].durable.last?.count ?? 0))
                    )
                }
            default: break
            }
            guard let change, let place = call.entries.first ?? call.result, let index = disk(place) else {
                continue
            }
            change.apply(to: &now[index])
            disks[index].changes.append((moment, change))
        }
    }

    /// Judges all possible states after a power loss at any moment; returns their number, and the faults.
    func judge(_ fault: (_ own: Tree, _ system: Tree, _ isWhole: (Int) -> Bool) -> String?) -> (
        states: Int, faults: Set<String>
    ) {
        var (states, faults) = (0, Set<String>())
        for moment in 0...moments {
            for own in disks[0].trees(at: moment) {
                for system in disks[1].trees(at: moment) {
                    states += 1
                    if let text = fault(own, system, { (whole[$0] ?? .max) <= moment }) {
                        faults.insert("moment \(moment): \(text)")
                    }
                }
            }
        }
        return (states, faults)
    }

    /// One line of the log.
    private struct Call {
        var name = ""
        let text: Substring
        /// The paths of the passed descriptors, from `-y`.
        var places: [String] = []
        /// Names, each relative to the directory before it.
        var entries: [String] = []
        /// The path of the returned descriptor.
        var result: String?

        /// Nil for a failed call.
        init?(_ line: Substring) {
            guard let start = line.firstIndex(of: "("), let end = line.range(of: " = ", options: .backwards),
                !line[end.upperBound...].hasPrefix("-1")
            else { return nil }
            name = String(line[..<start])
            text = line[start..<end.lowerBound]
            result = Self.bracketed(line[end.upperBound...]).first
            places = Self.bracketed(text)
            let parts = text.split(separator: "\"", omittingEmptySubsequences: false)
            for index in stride(from: 1, to: parts.count, by: 2) {
                let directory = Self.bracketed(parts[index - 1]).last
                let entry = String(parts[index])
                entries.append(entry.hasPrefix("/") ? entry : "\(directory ?? "")/\(entry)")
            }
        }

        private static func bracketed(_ text: Substring) -> [String] {
            text.split(separator: "<").dropFirst().compactMap { part in
                part.firstIndex(of: ">").map { String(part[..<$0]) }
            }
        }
    }
}

@Suite(
    "Power loss during a move",
    .serialized,
    .enabled(if: MoveMachine.isPossible, "needs root, strace and mounts of its own"),
    .timeLimit(.minutes(10))
)
struct PowerLossTests {
    private static let system = "/var/lib/touchstone"
    private static let kept = "\(system)/\(MoveMachine.user)"

    /// The names below a directory of the machine, with the paths that the command uses.
    private static func tree(_ path: String, as name: String, _ number: inout Int) -> MoveRecording.Tree {
        guard access(path, F_OK) == 0 else { return [:] }
        var tree: MoveRecording.Tree = [name: .directory]
        let names = (try? FileManager.default.subpathsOfDirectory(atPath: path)) ?? []
        for entry in names {
            var status = stat()
            guard lstat(path + "/" + entry, &status) == 0 else { continue }
            number += 1
            tree["\(name)/\(entry)"] = status.st_mode & S_IFMT == S_IFDIR ? .directory : .file(number)
        }
        return tree
    }

    /// The fault of a state; nil if one whole keychain is active, or none is and all of it is somewhere.
    private static func fault(
        _ own: MoveRecording.Tree,
        _ system: MoveRecording.Tree,
        _ path: String,
        _ isWhole: (Int) -> Bool
    ) -> String? {
        func has(_ tree: MoveRecording.Tree, _ directory: String) -> Bool {
            MoveMachine.files.allSatisfy { name in
                if case .file(let number) = tree["\(directory)/\(name)"] { isWhole(number) } else { false }
            }
        }
        let isOpen = own["\(path)/moved"] == nil
        let ownCounts = isOpen && MoveMachine.files.contains { own["\(path)/\($0)"] != nil }
        let keptCounts = system[kept] != nil
        if isOpen, keptCounts { return "two are in force" }
        if ownCounts, !has(own, path) { return "the user's is in force and not whole" }
        if isOpen, !ownCounts { return "an empty one is in force" }
        if keptCounts, !has(system, kept) { return "that of system mode is not whole" }
        let isSomewhere =
            has(own, path) || ["", ".old", ".back"].contains { has(system, kept + $0) }
        return isSomewhere ? nil : "it is lost"
    }

    @Test("nothing of the keychain is lost, whatever was not synced", arguments: ["enable", "disable"])
    func move(step: String) async throws {
        let machine = try MoveMachine()
        if step == "enable" { try machine.reset() } else { try machine.resetInSystemMode() }
        var number = 0
        let ownTree = Self.tree(machine.own, as: machine.own, &number)
        let systemTree = Self.tree(machine.system, as: Self.system, &number)
        let log = machine.home.appending("calls")
        let calls = "mkdir,mkdirat,openat,sendfile,write,fsync,fdatasync,renameat,unlinkat"
        _ = try await machine.run(
            step,
            tracer: ["/usr/bin/strace", "-qq", "-y", "-s", "200", "-o", log, "-e", "trace=\(calls)"]
        )
        #expect(machine.faults.isEmpty)
        func judged(ignoring: String? = nil) throws -> (states: Int, faults: Set<String>) {
            try MoveRecording(
                log: log,
                own: machine.own,
                system: Self.system,
                ownTree: ownTree,
                systemTree: systemTree,
                ignoring: ignoring
            ).judge { own, system, isWhole in Self.fault(own, system, machine.own, isWhole) }
        }
        let (states, faults) = try judged()
        #expect(faults.isEmpty && states > 50, "\(states) states: \(faults)")
        // Control: if a file, or the deactivated directory, is not synced, something is lost.
        let forgotten = ["/keybag", step == "enable" ? "/.local/share/touchstone" : "/var/lib/touchstone"]
        for name in forgotten {
            #expect(try !judged(ignoring: name).faults.isEmpty, "nothing is lost without the sync of \(name)")
        }
    }
}
