/// A disk that loses power: unsynced writes may be complete, missing or partial.
struct Disk {
    private enum Step {
        case write(offset: Int, octets: [UInt8])
        case truncate(length: Int)
    }

    private struct File {
        var synced: [UInt8]
        var pending: [Step] = []
    }

    /// The fate of unsynced writes.
    enum Loss: CaseIterable {
        /// All reached the disk, as after a crash of the program alone.
        case none
        /// None reached the disk.
        case all
        /// Only the last sector written of each file reached the disk.
        case allButLast
        /// All reached the disk, but only half of the last sector.
        case tornLast
        /// Each at random.
        case random
    }

    private static let sector = 512

    private var files: [File] = []
    private var names: [String: Int] = [:]
    private var syncedNames: [String: Int] = [:]
    /// A file whose syncs are ignored; nil for a correct disk.
    private let unsynced: String?

    init(_ image: FileImage, unsynced: String? = nil) {
        self.unsynced = unsynced
        for (name, octets) in image.files {
            names[name] = files.count
            files.append(File(synced: octets))
        }
        syncedNames = names
    }

    mutating func apply(_ event: FileEvent) {
        switch event {
        case .create(let name):
            guard names[name] == nil else { return }
            names[name] = files.count
            files.append(File(synced: []))
        case .write(let name, let offset, let octets):
            // Each sector of a long write may or may not reach the disk.
            var (rest, place) = (octets[...], offset)
            while !rest.isEmpty {
                let sector = Array(rest.prefix(Self.sector - place % Self.sector))
                append(.write(offset: place, octets: sector), to: name)
                rest = rest.dropFirst(sector.count)
                place += sector.count
            }
        case .truncate(let name, let length): append(.truncate(length: length), to: name)
        case .sync(let name):
            guard name != unsynced else { return }
            guard !name.isEmpty else { return syncedNames = names }
            guard let index = names[name] else { return }
            files[index].synced = Self.content(of: files[index], keeping: { _ in true })
            files[index].pending = []
        case .rename(let from, let to): names[to] = names.removeValue(forKey: from)
        case .link(let from, let to): names[to] = names[from]
        case .unlink(let name): names[name] = nil
        case .reply: break
        }
    }

    private mutating func append(_ step: Step, to name: String) {
        guard let index = names[name] else { return }
        files[index].pending.append(step)
    }

    /// The files after the power loss.
    func image(_ loss: Loss, using generator: inout some RandomNumberGenerator) -> FileImage {
        var image = FileImage()
        let keepsNames: Bool
        switch loss {
        case .none, .tornLast: keepsNames = true
        case .all, .allButLast: keepsNames = false
        case .random: keepsNames = Bool.random(using: &generator)
        }
        for (name, index) in keepsNames ? names : syncedNames {
            var file = files[index]
            let last = file.pending.count - 1
            switch loss {
            case .none: image.files[name] = Self.content(of: file) { _ in true }
            case .all: image.files[name] = Self.content(of: file) { _ in false }
            case .allButLast: image.files[name] = Self.content(of: file) { $0 == last }
            case .tornLast:
                if last >= 0 { file.pending[last] = Self.torn(file.pending[last]) }
                image.files[name] = Self.content(of: file) { _ in true }
            case .random:
                let kept = file.pending.map { _ in Bool.random(using: &generator) }
                image.files[name] = Self.content(of: file) { kept[$0] }
            }
        }
        return image
    }

    private static func torn(_ step: Step) -> Step {
        guard case .write(let offset, let octets) = step else { return step }
        return .write(offset: offset, octets: Array(octets.prefix(octets.count / 2)))
    }

    private static func content(of file: File, keeping: (Int) -> Bool) -> [UInt8] {
        var octets = file.synced
        for (index, step) in file.pending.enumerated() where keeping(index) {
            switch step {
            case .write(let offset, let written):
                let end = offset + written.count
                if octets.count < end { octets += [UInt8](repeating: 0, count: end - octets.count) }
                octets.replaceSubrange(offset..<end, with: written)
            case .truncate(let length):
                octets =
                    Array(octets.prefix(length)) + [UInt8](repeating: 0, count: max(0, length - octets.count))
            }
        }
        return octets
    }
}
