/// A row of the table: our figure, the figure it is compared with, and the bound.
struct Row {
    /// The bound on the ratio of our figure to the other.
    enum Bound {
        case atMost(Double)
        case atLeast(Double)
    }

    /// What is measured.
    let name: String
    /// Our figure; nil if it could not be measured.
    let ours: Figure?
    /// The limit's or a peer's figure, or the promised figure itself.
    let other: Figure?
    /// The name of the other.
    let otherName: String
    /// The bound; nil for an informative figure.
    let bound: Bound?
    /// Why a figure is missing.
    var remark = ""

    /// Compares our figure with the limit daemon's.
    init(_ name: String, ours: Figure, limit: Figure, _ bound: Bound) {
        self.init(name, ours: ours, "limit", limit, bound)
    }

    /// Compares our figure with a peer's.
    init(_ name: String, ours: Figure, _ otherName: String, _ other: Figure, _ bound: Bound) {
        (self.name, self.ours, self.other, self.otherName, self.bound) = (name, ours, other, otherName, bound)
    }

    /// Compares our figure with a promised one.
    init(_ name: String, ours: Figure, atMost promised: Figure) {
        self.init(name, ours: ours, "promise", promised, .atMost(1))
    }

    /// Creates a row for an informative figure.
    init(_ name: String, ours: Figure) {
        (self.name, self.ours, other, otherName, bound) = (name, ours, nil, "", nil)
    }

    /// Creates a row for a figure that could not be measured here.
    init(_ name: String, notMeasured reason: String) {
        (self.name, ours, other, otherName, bound) = (name, nil, nil, "", nil)
        remark = "not measured: \(reason)"
    }

    /// Our figure divided by the other.
    var ratio: Double? {
        guard let ours, let other, other.value > 0 else { return nil }
        return ours.value / other.value
    }

    /// Whether the bound holds; nil if there is none, or no measurement.
    var isKept: Bool? {
        guard let ours, let other, let bound else { return nil }
        switch bound {
        case .atMost(let most): return ours.value <= most * other.value
        case .atLeast(let least): return ours.value >= least * other.value
        }
    }

    /// The cells of the table.
    var cells: [String] {
        let promise =
            switch bound {
            case .atMost(let most)?: "<= \(Figure.number(most, decimals: most < 0.1 ? 3 : 2))"
            case .atLeast(let least)?: ">= \(Figure.number(least, decimals: 2))"
            case nil: ""
            }
        return [
            name,
            ours?.text ?? "-",
            other.map { "\($0.text) (\(otherName))" } ?? "",
            ratio.map { Figure.number($0, decimals: $0 < 0.1 ? 3 : 2) } ?? "",
            promise,
            isKept.map { $0 ? "ok" : "OVER" } ?? remark,
        ]
    }
}
