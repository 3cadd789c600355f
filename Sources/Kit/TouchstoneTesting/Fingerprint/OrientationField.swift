import Glibc

/// Which way the ridges run, pixel by pixel: the zero-pole model of Sherlock and Monro (1993).
struct OrientationField {
    /// Henry's classes that are drawn.
    enum Pattern: Int, CaseIterable {
        case rightLoop
        case whorl
        case leftLoop
        case arch
    }

    private struct Point {
        let x: Double
        let y: Double
    }

    private let pattern: Pattern
    private let center: Point
    private let cores: [Point]
    private let deltas: [Point]
    private let width: Double
    private let height: Double

    init(_ pattern: Pattern, width: Int, height: Int, using random: inout SplitMix64) {
        self.pattern = pattern
        self.width = Double(width)
        self.height = Double(height)
        let x = Double(width) / 2 + random.normal(0, 6)
        let y = Double(height) * 0.45 + random.normal(0, 6)
        center = Point(x: x, y: y)
        switch pattern {
        case .arch:
            (cores, deltas) = ([], [])
        case .whorl:
            cores = [Point(x: x - 10, y: y - 10), Point(x: x + 10, y: y + 12)]
            deltas = [Point(x: x - 75, y: y + 70), Point(x: x + 75, y: y + 70)]
        case .rightLoop, .leftLoop:
            let side: Double = pattern == .rightLoop ? 55 : -55
            cores = [center]
            deltas = [Point(x: x + side + random.normal(0, 8), y: y + 75 + random.normal(0, 8))]
        }
    }

    /// The ridge's angle in radians.
    func angle(x: Double, y: Double) -> Double {
        if pattern == .arch {
            let rise = (y - center.y) / (height * 0.35)
            return -atan(0.9 * sin((x - center.x) / width * .pi) * exp(-rise * rise))
        }
        var sum = 0.0
        for delta in deltas { sum += atan2(y - delta.y, x - delta.x) }
        for core in cores { sum -= atan2(y - core.y, x - core.x) }
        return -0.5 * sum
    }
}
