import ArgumentParser

/// The names that imported entries get: the folders and the title, separated by slashes, made valid for ``ItemName``.
struct ImportNames {
    /// The longest prefix, in bytes: it leaves room for a title.
    static let longestPrefix = 150
    private static let longestTitle = 60

    private let prefix: String
    private var taken: Set<String> = []
    /// The last number that entries of one name got.
    private var numbers: [String: Int] = [:]

    init(below prefix: NamePrefix?) { self.prefix = prefix?.text ?? "" }

    /// The name of an entry.
    ///
    /// A second entry of the same folders and title gets its user name after it, and if that is taken too, a number. So the names
    /// stay the same when the same export is imported again.
    mutating func name(of item: ImportItem) throws(ValidationError) -> ItemName {
        let folders = item.folders.map(Self.part).filter { !$0.isEmpty }.joined(separator: "/")
        var title = Self.part(item.title)
        if title.isEmpty { title = Self.part(item.user ?? "") }
        if title.isEmpty { title = "entry" }
        let place = prefix + (folders.isEmpty ? "" : folders + "/")
        var suffix = ""
        while true {
            let name = Self.joined(place, title, suffix)
            if taken.insert(name).inserted { return try ItemName(argument: name) }
            if suffix.isEmpty, let user = item.user.map(Self.part), !user.isEmpty {
                suffix = " (\(Self.cut(user, to: 40)))"
            } else {
                let number = numbers[place + title, default: 1] + 1
                numbers[place + title] = number
                suffix = " (\(number))"
            }
        }
    }

    /// A name beside `name`, for another secret of that name.
    static func beside(_ name: ItemName, number: Int) throws(ValidationError) -> ItemName {
        try ItemName(argument: joined("", name.text, number == 1 ? " (import)" : " (import \(number))"))
    }

    /// The names that a name stands beside: it has something in parentheses after them.
    static func names(besideWhich name: String) -> [[UInt8]] {
        let octets = Array(name.utf8)
        guard octets.last == UInt8(ascii: ")") else { return [] }
        return octets.indices.dropLast().filter { octets[$0] == 0x20 && octets[$0 + 1] == UInt8(ascii: "(") }
            .map { Array(octets[..<$0]) }
    }

    /// A folder or a title as a part of a name: no slash, and no character that a terminal does not show as it is.
    private static func part(_ text: String) -> String {
        var part = ""
        for scalar in text.unicodeScalars {
            if scalar == "/" {
                part += "-"
            } else if Printable.isHarmful(scalar) || scalar == "\u{FFFD}" {
                part += "_"
            } else {
                part.unicodeScalars.append(scalar)
            }
        }
        return trimmed(part)
    }

    private static func trimmed(_ text: String) -> String {
        var text = text[...]
        while text.first == " " { text.removeFirst() }
        while text.last == " " { text.removeLast() }
        return String(text)
    }

    /// The parts as a name of at most ``ItemName/longest`` bytes; a long title is shortened first, then the folders.
    private static func joined(_ place: String, _ title: String, _ suffix: String) -> String {
        let whole = place + title + suffix
        guard whole.utf8.count > ItemName.longest else { return whole }
        let room = ItemName.longest - suffix.utf8.count
        let title = cut(title, to: max(longestTitle, room - place.utf8.count))
        return cut(place, to: room - title.utf8.count) + title + suffix
    }

    /// The beginning of a text, whole characters of at most `count` bytes.
    private static func cut(_ text: String, to count: Int) -> String {
        var cut = ""
        for scalar in text.unicodeScalars {
            guard cut.utf8.count + String(scalar).utf8.count <= count else { break }
            cut.unicodeScalars.append(scalar)
        }
        return cut
    }
}
