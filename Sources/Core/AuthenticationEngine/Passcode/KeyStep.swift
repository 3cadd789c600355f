/// How one character follows from the one before.
struct KeyStep: OptionSet, Sendable {
    let rawValue: UInt8

    /// The next letter or digit.
    static let up = KeyStep(rawValue: 1 << 0)
    /// The letter or digit before.
    static let down = KeyStep(rawValue: 1 << 1)
    /// A neighbour on the keyboard.
    static let neighbour = KeyStep(rawValue: 1 << 2)
    /// To the right on a row of keys.
    static let right = KeyStep(rawValue: 1 << 3)
    /// To the left on a row of keys.
    static let left = KeyStep(rawValue: 1 << 4)
    /// Every kind: what the same character again goes with.
    static let all: KeyStep = [.up, .down, .neighbour, .right, .left]

    init(rawValue: UInt8) { self.rawValue = rawValue }

    /// The same character again goes with any kind.
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

/// Where keys are, as far as fingers walk along them; other layouts keep most of it.
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

    /// How a finger goes from one key to the next, where that is beside it.
    static func step(_ octet: UInt8, _ next: UInt8) -> KeyStep {
        guard let from = places[octet], let to = places[next] else { return [] }
        // Rows are shifted by half a key: straight down and down to the left are neighbours.
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
