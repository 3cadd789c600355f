/// The paths of the programs to measure, and the options.
struct Programs {
    /// `touchstoned`.
    var daemon = ""
    /// `touchstone`.
    var command = ""
    /// `limit-daemon`.
    var limit = ""
    /// `touchstone-secrets`; empty for programs of before it.
    var door = ""
    /// `scripted-pinentry`.
    var pinentry = ""
    /// `libsecret-bench`; nil if there is no libsecret to build it with.
    var libsecret: String?
    /// `kwallet-bench`; nil in a smoke run.
    var kwallet: String?
    /// Whether this is a smoke run: few iterations, no peers, no check of the bounds.
    var isSmoke = false
    /// The parts to measure.
    var parts = Set(Part.allCases)

    /// Parses the arguments.
    init(_ arguments: [String]) throws {
        var rest = arguments[...]
        while let name = rest.popFirst() {
            if name == "--smoke" {
                isSmoke = true
                continue
            }
            guard let value = rest.popFirst() else { throw BenchError("\(name) needs a value") }
            switch name {
            case "--touchstoned": daemon = value
            case "--touchstone": command = value
            case "--touchstone-secrets": door = value
            case "--limit-daemon": limit = value
            case "--pinentry": pinentry = value
            case "--libsecret": libsecret = value
            case "--kwallet": kwallet = value
            case "--only": parts = try Part.parts(value)
            default: throw BenchError("\(name) is not an option; use Scripts/benchmark")
            }
        }
        guard ![daemon, command, limit, pinentry].contains("") else {
            throw BenchError("a program is missing; use Scripts/benchmark")
        }
    }
}
