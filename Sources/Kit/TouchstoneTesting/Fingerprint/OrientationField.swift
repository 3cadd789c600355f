import Glibc

/// Which way the ridges run, pixel by pixel: the zero-pole model of Sherlock and Monro (1993), bent by a smooth variation.
///
/// Ridges end and split where the field forces them to. Two fingers of one class whose fields differ little except in
/// position have minutiae in the same places, and the matcher confuses them; so everything about a field is random: the
/// positions of cores and deltas, the steepness of an arch, the bending in between.
struct OrientationField {
    /// Henry's classes that the generator draws.
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
    /// An arch's steepness, and its vertical reach.
    private let arch: (steepness: Double, reach: Double)
    private let bend: SmoothVariation
    private let turn: Double
    private let width: Double
    private let height: Double

    init(_ pattern: Pattern, width: Int, height: Int, using random: inout SplitMix64) {
        self.pattern = pattern
        self.width = Double(width)
        self.height = Double(height)
        let x = Double(width) / 2 + random.normal(0, 12)
        let y = Double(height) * 0.45 + random.normal(0, 12)
        center = Point(x: x, y: y)
        arch = (steepness: 0.5 + random.unit(), reach: Double(height) * (0.25 + 0.25 * random.unit()))
        switch pattern {
        case .arch:
            (cores, deltas) = ([], [])
        case .whorl:
            // From a spiral to two interlocked loops.
            let half = 8 + 24 * random.unit(), direction = Double.pi * random.unit()
            let (right, down) = (half * cos(direction), half * sin(direction))
            cores = [Point(x: x - right, y: y - down), Point(x: x + right, y: y + down)]
            deltas = [-75.0, 75].map {
                Point(x: x + $0 + random.normal(0, 12), y: y + 70 + random.normal(0, 18))
            }
        case .rightLoop, .leftLoop:
            let side: Double = pattern == .rightLoop ? 60 : -60
            cores = [center]
            deltas = [Point(x: x + side + random.normal(0, 14), y: y + 75 + random.normal(0, 18))]
        }
        turn = random.normal(0, 0.15)
        // Nothing else distinguishes one arch from another.
        bend = SmoothVariation(deviation: pattern == .arch ? 0.4 : 0.28, lengths: 80...220, using: &random)
    }

    /// The ridge's angle in radians.
    func angle(x: Double, y: Double) -> Double {
        let bent = turn + bend.value(x: x, y: y)
        if pattern == .arch {
            let rise = (y - center.y) / arch.reach
            return bent - atan(arch.steepness * sin((x - center.x) / width * .pi) * exp(-rise * rise))
        }
        var sum = 0.0
        for delta in deltas { sum += atan2(y - delta.y, x - delta.x) }
        for core in cores { sum -= atan2(y - core.y, x - core.x) }
        return bent - 0.5 * sum
    }
}
