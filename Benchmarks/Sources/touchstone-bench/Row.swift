/// One line of the table: our figure, what it is compared with, and what was promised.
struct Row {
    /// What was promised of the ratio of ours to the other.
    enum Bound {
        case atMost(Double)
        case atLeast(Double)
    }

    /// What was measured.
    let name: String
    /// Ours; nil where it could not be measured.
    let ours: Figure?
    /// The limit's, a peer's, or the promised figure itself.
    let other: Figure?
    /// Who the other is.
    let otherName: String
    /// What was promised; nil for a figure that only informs.
    let bound: Bound?
    /// Why something is missing.
    var remark = ""

    /// Ours beside the limit daemon's.
    init(_ name: String, ours: Figure, limit: Figure, _ bound: Bound) {
        self.init(name, ours: ours, "limit", limit, bound)
    }

    /// Ours beside somebody else's.
    init(_ name: String, ours: Figure, _ otherName: String, _ other: Figure, _ bound: Bound) {
        (self.name, self.ours, self.other, self.otherName, self.bound) = (name, ours, other, otherName, bound)
    }

    /// Ours beside a promised figure.
    init(_ name: String, ours: Figure, atMost promised: Figure) {
        self.init(name, ours: ours, "promise", promised, .atMost(1))
    }

    /// A figure that only informs.
    init(_ name: String, ours: Figure) {
        (self.name, self.ours, other, otherName, bound) = (name, ours, nil, "", nil)
    }

    /// Something that could not be measured here.
    init(_ name: String, notMeasured reason: String) {
        (self.name, ours, other, otherName, bound) = (name, nil, nil, "", nil)
        remark = "not measured: \(reason)"
    }

    /// Ours divided by the other.
    var ratio: Double? {
        guard let ours, let other, other.value > 0 else { return nil }
        return ours.value / other.value
    }

    /// Whether the promise is kept; nil where there is none, or nothing was measured.
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
