import KeychainModel

/// The results of an import, in words and as JSON.
struct ImportReport {
    let format: ImportFormat
    let results: [ImportResult]
    let isDryRun: Bool

    /// One line for each entry of which something is to be told; names are made from text of others.
    var lines: [String] {
        results.flatMap { result in
            let name = Printable.text(result.name.text)
            let isWhole = [.leftOut, .failed].contains(result.outcome)
            let parts = isWhole ? [] : result.reasons.map { "left out  \(name): \(Printable.text($0))" }
            return [line(result, name)].compactMap { $0 } + parts
        }
    }

    private func line(_ result: ImportResult, _ name: String) -> String? {
        let reasons = Printable.text(result.reasons.joined(separator: ", "))
        return switch result.outcome {
        case .same: nil
        case .added: "added     \(name)"
        case .kept: "kept      \(name), which differs; the one to import was not stored"
        case .replaced: "replaced  \(name), which differed"
        case .besides: "added     \(name), which differs, as \(Printable.text(result.newName?.text ?? ""))"
        case .leftOut: "left out  \(name): \(reasons)"
        case .failed: "failed    \(name): \(reasons)"
        case .new: "new       \(name)"
        case .present: "present   \(name), which is compared when it is imported"
        }
    }

    /// The numbers of entries.
    var summary: String {
        let stored = count(.added, .replaced, .besides)
        let counts =
            isDryRun
            ? [("New", count(.new)), ("Present", count(.present))]
            : [("Stored", stored), ("The same already", count(.same)), ("Kept", count(.kept))]
        let rest = [("Left out", count(.leftOut)), ("Failed", count(.failed))].filter { $0.1 > 0 }
        return ([("Entries", results.count)] + counts + rest).map { "\($0.0): \($0.1)." }.joined(
            separator: " "
        )
    }

    func count(_ outcomes: ImportResult.Outcome...) -> Int {
        results.count { outcomes.contains($0.outcome) }
    }

    /// All that is told, for programs.
    var json: JSONText {
        .object([
            ("format", .text(format.rawValue)), ("dryRun", .flag(isDryRun)),
            ("entries", .list(results.map(Self.json))),
        ])
    }

    private static func json(_ result: ImportResult) -> JSONText {
        .object([
            ("name", .text(result.name.text)), ("outcome", .text(result.outcome.rawValue)),
            ("newName", .optional(result.newName?.text)),
            ("leftOut", .list(result.reasons.map(JSONText.text))),
        ])
    }

    /// How the source is removed, once nothing in it is needed any more; nil for standard input.
    func removal(of path: String) -> String? {
        guard path != "-" else { return nil }
        let place = ShellWord.escaped(path)
        guard format != .pass else {
            return "\(Printable.text(path)) is as it was, encrypted. Once nothing uses it: rm -r \(place); "
                + "its git remotes and backups have copies."
        }
        return
            "\(Printable.text(path)) still has every secret in plain text. Once nothing more of it is needed: "
            + "shred -u \(place). On an SSD and on file systems that copy on write or journal data (btrfs, zfs), shred does not "
            + "reach older copies: only encryption of the disk covers those. Snapshots, backups and the trash have copies too."
    }
}
