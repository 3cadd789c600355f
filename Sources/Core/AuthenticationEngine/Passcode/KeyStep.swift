/// The ways in which one character can follow the one before.
struct KeyStep: OptionSet, Sendable {
    let rawValue: UInt8

    /// The next letter or digit in order.
    static let up = KeyStep(rawValue: 1 << 0)
    /// The previous letter or digit in order.
    static let down = KeyStep(rawValue: 1 << 1)
    /// An adjacent key of the keyboard.
    static let neighbour = KeyStep(rawValue: 1 << 2)
    /// The next key to the right in a row.
    static let right = KeyStep(rawValue: 1 << 3)
    /// The next key to the left in a row.
    static let left = KeyStep(rawValue: 1 << 4)
    /// Every kind, for a repeated character.
    static let all: KeyStep = [.up, .down, .neighbour, .right, .left]

    init(rawValue: UInt8) { self.rawValue = rawValue }

    /// Compares two characters; a repeated character is compatible with every kind.
    init(_ octet: UInt8, _ next: UInt8) {
        guard octet != next else {
            self = .all
            return
        }
        self = Keyboard.step(octet, next)
        guard Self.isAlphanumeric(octet), Self.isAlphanumeric(next) else { return }
        switch Int(next) - Int(octet) {
        case 1: insert(.up)
        case -1: insert(.down)
        default: break
        }
    }

    private static func isAlphanumeric(_ octet: UInt8) -> Bool {
        switch octet {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "z"),
            UInt8(ascii: "A")...UInt8(ascii: "Z"):
            true
        default: false
        }
    }
}

/// The positions of keys, as far as they matter for adjacency; most of it holds for other layouts too.
private enum Keyboard {
    private static let rows: [[StaticString]] = [
        ["1234567890-=", "qwertyuiop[]", "asdfghjkl;'", "zxcvbnm,./"],
        ["!@#$%^&*()_+", "QWERTYUIOP{}", "ASDFGHJKL:\"", "ZXCVBNM<>?"],
    ]
    private static let places: [UInt8: (row: Int, column: Int)] = {
        var places: [UInt8: (row: Int, column: Int)] = [:]
        for rows in rows {
            for (row, keys) in rows.enumerated() {
                keys.withUTF8Buffer { keys in
                    for (column, key) in keys.enumerated() { places[key] = (row, column) }
                }
            }
        }
        return places
    }()

    /// The step from one key to an adjacent one; empty if the keys are not adjacent.
    static func step(_ octet: UInt8, _ next: UInt8) -> KeyStep {
        guard let from = places[octet], let to = places[next] else { return [] }
        // Rows are offset by half a key: the keys straight below and below to the left are adjacent.
        let across = to.column - from.column
        switch to.row - from.row {
        case 0 where across == 1: return [.neighbour, .right]
        case 0 where across == -1: return [.neighbour, .left]
        case 0: return across == 0 ? .neighbour : []
        case 1: return across == 0 || across == -1 ? .neighbour : []
        case -1: return across == 0 || across == 1 ? .neighbour : []
        default: return []
        }
    }
}
