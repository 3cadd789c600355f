/// A part of the run, as `--only` names it.
enum Part: String, CaseIterable {
    case lookUp = "look-up"
    case list
    case functions
    case memory
    case process
    case start
    case changes
    case octets
    case flushes
    case waits
    case tpm
    case finger
    case system
    case ssh
    case secrets
    /// Comparison with gnome-keyring, KWallet and systemd-creds; needs most of the others.
    case peers

    /// The parts measured in filled stores of all three sizes.
    static let ofAllSizes: Set<Part> = [.lookUp, .octets]
    /// The parts measured in the filled store of the middle size.
    static let ofMiddleSize: Set<Part> = [.list, .functions, .memory, .process, .start, .changes]

    /// Parses names separated by commas.
    static func parts(_ names: String) throws -> Set<Part> {
        try Set(
            names.split(separator: ",").map {
                guard let part = Part(rawValue: String($0)), part != .peers else {
                    let known = allCases.filter { $0 != .peers }.map(\.rawValue).joined(separator: ", ")
                    throw BenchError("\($0) is not a part that can be measured alone; these are: \(known)")
                }
                return part
            }
        )
    }
}
