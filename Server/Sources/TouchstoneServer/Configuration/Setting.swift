/// One line `key = value` of a configuration file, or one variable of the environment.
struct Setting: Sendable, Equatable {
    let key: String
    let value: String
    let place: Place

    /// Where a setting is.
    enum Place: Sendable, Equatable, CustomStringConvertible {
        /// A line of a file: `touchstone-server.conf, line 3`.
        case file(String)
        /// A variable of the environment, by its name.
        case variable(String)

        var description: String {
            switch self {
            case .file(let text), .variable(let text): text
            }
        }
    }

    /// The fault that this setting is wrong; `reason` follows its key.
    func fault(_ reason: String) -> ConfigurationFault {
        ConfigurationFault(place: "\(place)", reason: "\(key) \(reason)")
    }

    /// Parses the settings of a text: lines of `key = value`; `#` starts a comment, except that of a value `#rrggbb`.
    static func all(in text: String, of file: String) throws(ConfigurationFault) -> [Setting] {
        var settings: [Setting] = []
        var seen: Set<String> = []
        // A CR LF line end is a single character.
        let lines = text.split(omittingEmptySubsequences: false) { $0 == "\n" || $0 == "\r\n" }
        for (index, line) in lines.enumerated() {
            let place = "\(file), line \(index + 1)"
            let colour = line.prefixMatch(of: #/[^#=]*=\s*#[0-9A-Fa-f]{6}(?!\S)/#)?.output
            let content = colour ?? line.prefix { $0 != "#" }
            guard content.contains(where: { !$0.isWhitespace }) else { continue }
            let parts = content.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard parts.count == 2 else {
                throw ConfigurationFault(place: place, reason: "not of the form key = value")
            }
            let setting = Setting(key: trimmed(parts[0]), value: trimmed(parts[1]), place: .file(place))
            guard seen.insert(setting.key).inserted else { throw setting.fault("is set twice") }
            settings.append(setting)
        }
        return settings
    }

    /// The settings of the environment: `TOUCHSTONE_SERVER_PUBLIC_URL` is `public-url`.
    static func all(in environment: [String: String]) -> [Setting] {
        environment.filter { $0.key.hasPrefix(prefix) && $0.key != fileVariable }
            .sorted { $0.key < $1.key }
            .map { name, value in
                let key = name.dropFirst(prefix.count).lowercased().replacing("_", with: "-")
                return Setting(key: key, value: value, place: .variable(name))
            }
    }

    static let prefix = "TOUCHSTONE_SERVER_"
    /// The variable that names the file, and is not a setting itself.
    static let fileVariable = "TOUCHSTONE_SERVER_CONFIG"

    private static func trimmed(_ text: Substring) -> String {
        let start = text.drop { $0.isWhitespace }
        guard let last = start.lastIndex(where: { !$0.isWhitespace }) else { return "" }
        return String(start[...last])
    }
}

/// Why a configuration is rejected.
public struct ConfigurationFault: Error, Sendable, Equatable, CustomStringConvertible {
    /// The line of a file, or the variable.
    public let place: String
    /// What is wrong, and what is required.
    public let reason: String

    /// Place and reason in one line.
    public var description: String { "\(place): \(reason)" }
}

extension Setting {
    /// The value as a whole number.
    func number(in range: ClosedRange<Int>) throws(ConfigurationFault) -> Int {
        guard value.allSatisfy({ ("0"..."9").contains($0) }), let number = Int(value), range.contains(number)
        else { throw fault("must be a whole number from \(range.lowerBound) to \(range.upperBound)") }
        return number
    }

    /// The value as the lifetime of an access token, in seconds.
    func accessTokenLifetime() throws(ConfigurationFault) -> Int { try number(in: 10...3600) }

    /// The value as `on` or `off`.
    func flag() throws(ConfigurationFault) -> Bool {
        guard ["on", "off"].contains(value) else { throw fault("must be on or off") }
        return value == "on"
    }

    /// The value as an absolute path.
    func path() throws(ConfigurationFault) -> String {
        guard value.hasPrefix("/") else { throw fault("must be an absolute path") }
        return value
    }

    /// The value as a list, separated by white space or commas.
    var list: [String] { value.split { $0.isWhitespace || $0 == "," }.map(String.init) }

    /// The value as a list of origins, as clients serialise them: those of pages in lower case and without a slash at
    /// their end, those of apps with their scheme.
    func origins() throws(ConfigurationFault) -> [String] {
        for origin in list {
            let scheme = origin.prefix { $0 != ":" }
            // A host and a port look like a scheme.
            guard !scheme.isEmpty, !origin.dropFirst(scheme.count + 1).allSatisfy(\.isNumber) else {
                throw fault("has \(origin), which needs a scheme, such as https://\(origin)")
            }
            guard ["http", "https"].contains(scheme.lowercased()) else { continue }
            guard origin == origin.lowercased(), PublicURL(origin)?.origin == origin else {
                throw fault(
                    "has \(origin), which is not as browsers write it, such as https://app.example.org"
                )
            }
        }
        return list
    }

    /// The value as a case of an enumeration.
    func choice<Choice: RawRepresentable & CaseIterable>() throws(ConfigurationFault) -> Choice
    where Choice.RawValue == String {
        guard let choice = Choice(rawValue: value) else {
            throw fault("must be one of \(Choice.allCases.map(\.rawValue).joined(separator: ", "))")
        }
        return choice
    }

    /// The value as a level of assurance, and the facts that a device must state.
    func assurance() throws(ConfigurationFault) -> AssuranceDemand {
        let words = list
        let facts = words.dropFirst()
        guard let level = words.first.flatMap(AssuranceDemand.Level.init),
            facts.allSatisfy(AssuranceDemand.facts.contains)
        else {
            throw fault(
                "must be one of \(AssuranceDemand.Level.allCases.map(\.rawValue).joined(separator: ", ")), and facts of "
                    + AssuranceDemand.facts.joined(separator: ", ")
            )
        }
        return AssuranceDemand(level, facts: Set(facts))
    }

    /// The value as `host:port`; for port 0 the system chooses one.
    func address() throws(ConfigurationFault) -> ListenAddress {
        guard let colon = value.lastIndex(of: ":"), let port = UInt16(value[value.index(after: colon)...]),
            colon != value.startIndex
        else { throw fault("must be of the form host:port") }
        var host = value[..<colon]
        if host.hasPrefix("["), host.hasSuffix("]") { host = host.dropFirst().dropLast() }
        return ListenAddress(host: String(host), port: Int(port))
    }
}

/// An address to listen on.
public struct ListenAddress: Sendable, Equatable {
    /// A host name or an IP address.
    public var host: String
    /// The port; 0: chosen by the system.
    public var port: Int

    /// Whether it is every address of the machine.
    var isEverywhere: Bool {
        guard let address = IPAddress(host) else { return ["", "*", "0"].contains(host) }
        return address.bytes.allSatisfy { $0 == 0 }
    }

    /// Creates an address.
    public init(host: String, port: Int) {
        self.host = host
        self.port = port
    }
}
