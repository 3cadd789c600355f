/// A measured value and its unit.
struct Figure {
    enum Unit {
        /// Seconds.
        case time
        /// Bytes.
        case size
        case perSecond
        case count
    }

    let value: Double
    let unit: Unit

    init(_ value: Double, _ unit: Unit) {
        self.value = value
        self.unit = unit
    }

    init(_ time: Nanoseconds) { self.init(Double(time) / 1e9, .time) }

    static func microseconds(_ value: Double) -> Figure { Figure(value / 1_000_000, .time) }
    static func milliseconds(_ value: Double) -> Figure { Figure(value / 1000, .time) }
    static func kilobytes(_ value: Double) -> Figure { Figure(value * 1024, .size) }
    static func megabytes(_ value: Double) -> Figure { Figure(value * 1024 * 1024, .size) }

    /// The value with its unit, for people.
    var text: String {
        switch unit {
        case .time where value < 1e-3: Self.text(of: value * 1e6, "us")
        case .time where value < 1: Self.text(of: value * 1e3, "ms")
        case .time: Self.text(of: value, "s")
        case .size where value < 1_048_576: Self.text(of: value / 1024, "KB")
        case .size: Self.text(of: value / 1024 / 1024, "MB")
        case .perSecond: Self.text(of: value, "/s")
        case .count: Self.text(of: value, "")
        }
    }

    private static func text(of value: Double, _ unit: String) -> String {
        let decimals = value >= 100 ? 0 : value >= 10 ? 1 : 2
        return number(value, decimals: decimals) + (unit.isEmpty ? "" : " " + unit)
    }

    /// Formats a number with this many decimals.
    static func number(_ value: Double, decimals: Int) -> String {
        guard value.isFinite else { return "-" }
        guard value >= 0 else { return "-" + number(-value, decimals: decimals) }
        let scale: Int = (0..<decimals).reduce(1) { scale, _ in scale * 10 }
        let scaled = Int((value * Double(scale)).rounded())
        guard decimals > 0 else { return "\(scaled)" }
        let rest = "\(scaled % scale)"
        return "\(scaled / scale)." + String(repeating: "0", count: decimals - rest.count) + rest
    }
}
