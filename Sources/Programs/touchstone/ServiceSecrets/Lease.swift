import KeychainModel

/// A gesture that counts for a program and a secret for some time, as the door lists it.
struct Lease {
    let number: UInt64
    let process: Int32
    let program: String
    let secondsLeft: Int64
    /// How often the secret may still be read; nil for any number.
    let readsLeft: Int64?
    let label: String

    /// The longest list, in bytes.
    private static let longestList = 1 << 20

    /// Those that count now; none without a door.
    static func all() throws(CommandError) -> [Lease] {
        try ask(["--leases"]).split(separator: "\n").compactMap { Lease(line: $0) }
    }

    /// Ends the lease of a number, or all for 0.
    ///
    /// - Returns: how many there were.
    static func end(_ number: UInt64) throws(CommandError) -> Int {
        let text = try ask(["--end-lease", String(number)])
        return Int(text.filter { $0 != "\n" }) ?? 0
    }

    private static func ask(_ arguments: [String]) throws(CommandError) -> String {
        let path = try SecretsDoorProgram.path()
        switch try SecretsDoorProgram.owner() {
        case .nobody: return ""
        case .noBus:
            throw CommandError(
                "there is no session bus here",
                hint: "run it in the session whose programs read secrets",
                exitCode: .notAvailable
            )
        case .other(let name, let process):
            throw CommandError(
                "'\(Printable.text(name))', process \(process), serves other programs' secrets, and not this keychain",
                hint: "touchstone secrets status",
                exitCode: .notAvailable
            )
        case .touchstone: break
        }
        return String(
            decoding: try ChildProgram.output(of: path, arguments, upTo: longestList),
            as: UTF8.self
        )
    }

    private init?(line: Substring) {
        let fields = line.split(separator: "\t", maxSplits: 5, omittingEmptySubsequences: false)
        guard fields.count == 6, let number = UInt64(fields[0]), let process = Int32(fields[1]),
            let seconds = Int64(fields[3]), let reads = Int64(fields[4])
        else { return nil }
        self.number = number
        self.process = process
        program = String(fields[2])
        secondsLeft = seconds
        readsLeft = reads == 0 ? nil : reads
        label = String(fields[5])
    }
}
