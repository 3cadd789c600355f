import Glibc

/// Ridges grown out of noise (the idea of Cappelli's SFinGe): the noise is filtered repeatedly along a field.
///
/// The filter is a wave of one ridge period across the ridge and a smooth window along it. It is applied in two
/// one-dimensional passes, along the pixel's own direction.
struct RidgeGrowth {
    /// Ridge periods in pixels at 500 dpi, in the steps that are distinguished.
    private static let ridgePeriods = [7.8, 8.2, 8.6, 9.0, 9.4, 9.8, 10.2, 10.6]
    /// Filters over half a turn.
    private static let directionCount = 96
    /// The window's standard deviation, pixels.
    private static let deviation = 3.6
    /// Pixels that a filter reaches to each side.
    private static let reach = 11
    private static let rounds = 12

    private let width: Int
    private let height: Int
    /// Pixels in a row including its margins, which stay empty.
    private let stride: Int

    init(width: Int, height: Int) {
        self.width = width
        self.height = height
        stride = width + 2 * Self.reach
    }

    /// -1 (valley) to 1 (ridge), row by row.
    func ridges(along field: OrientationField, using random: inout SplitMix64) -> [Float] {
        let directions = directions(of: field)
        let periods = periods(using: &random)
        let one = [Int](repeating: 0, count: periods.count)
        let across = acrossTaps(), along = alongTaps()
        var picture = [Float](repeating: 0, count: stride * (height + 2 * Self.reach))
        var filtered = picture
        for y in 0..<height {
            for x in 0..<width { picture[index(x, y)] = Float(random.normal()) }
        }
        for _ in 0..<Self.rounds {
            apply(across, periods, directions, from: picture, to: &filtered)
            apply(along, one, directions, from: filtered, to: &picture)
            sharpen(&picture)
        }
        var ridges: [Float] = []
        ridges.reserveCapacity(width * height)
        for y in 0..<height { ridges += picture[index(0, y)..<index(width, y)] }
        return ridges
    }

    private func index(_ x: Int, _ y: Int) -> Int { (y + Self.reach) * stride + x + Self.reach }

    private func directions(of field: OrientationField) -> [Int] {
        var directions = [Int](repeating: 0, count: width * height)
        for y in 0..<height {
            for x in 0..<width {
                let turns = field.angle(x: Double(x), y: Double(y)) / .pi * Double(Self.directionCount)
                let whole = Int(turns.rounded()) % Self.directionCount
                directions[y * width + x] = whole < 0 ? whole + Self.directionCount : whole
            }
        }
        return directions
    }

    /// The index of the ridge period at each pixel: ridges also end and split where the period changes.
    private func periods(using random: inout SplitMix64) -> [Int] {
        let periods = Self.ridgePeriods
        let step = periods[1] - periods[0]
        let usual = 9.0 + random.normal(0, 0.3)
        let variation = SmoothVariation(deviation: 0.7, lengths: 80...240, using: &random)
        var numbers = [Int](repeating: 0, count: width * height)
        for y in 0..<height {
            for x in 0..<width {
                let period = usual + variation.value(x: Double(x), y: Double(y))
                let number = Int(((period - periods[0]) / step).rounded())
                numbers[y * width + x] = min(max(number, 0), periods.count - 1)
            }
        }
        return numbers
    }

    // MARK: Filters

    /// Filter weights for each ridge period, and for each direction if they depend on it.
    private struct Taps {
        let weights: [Float]
        let offsets: [Int]
        let count = 2 * RidgeGrowth.reach + 1
    }

    private static func window(_ distance: Double) -> Double {
        exp(-distance * distance / (2 * deviation * deviation))
    }

    private func alongTaps() -> Taps {
        let weights = (-Self.reach...Self.reach).map { Float(Self.window(Double($0))) }
        return Taps(weights: weights, offsets: offsets { (cos($0), sin($0)) })
    }

    private func acrossTaps() -> Taps {
        let weights = Self.ridgePeriods.flatMap { period in
            let weights = (-Self.reach...Self.reach).map { place in
                Self.window(Double(place)) * cos(2 * .pi * Double(place) / period)
            }
            let mean = weights.reduce(0, +) / Double(weights.count)
            return weights.map { Float($0 - mean) }
        }
        return Taps(weights: weights, offsets: offsets { (-sin($0), cos($0)) })
    }

    /// The pixel offsets along a line through the filtered pixel, for each direction.
    private func offsets(_ line: (Double) -> (x: Double, y: Double)) -> [Int] {
        var offsets: [Int] = []
        for direction in 0..<Self.directionCount {
            let step = line(.pi * Double(direction) / Double(Self.directionCount))
            for place in -Self.reach...Self.reach {
                let (x, y) = ((Double(place) * step.x).rounded(), (Double(place) * step.y).rounded())
                offsets.append(Int(y) * stride + Int(x))
            }
        }
        return offsets
    }

    private func apply(
        _ taps: Taps,
        _ periods: [Int],
        _ directions: [Int],
        from source: [Float],
        to result: inout [Float]
    ) {
        let count = taps.count
        // Unsafe pointers: checked subscripts make an unoptimised build twenty times slower.
        unsafe source.withUnsafeBufferPointer { source in
            unsafe result.withUnsafeMutableBufferPointer { result in
                unsafe taps.weights.withUnsafeBufferPointer { weights in
                    unsafe taps.offsets.withUnsafeBufferPointer { offsets in
                        var y = 0
                        while y < height {
                            var x = 0
                            while x < width {
                                let place = index(x, y)
                                let first = directions[y * width + x] * count
                                let weight = periods[y * width + x] * count
                                var sum: Float = 0
                                var tap = 0
                                while tap < count {
                                    unsafe sum += weights[weight + tap] * source[place + offsets[first + tap]]
                                    tap += 1
                                }
                                unsafe result[place] = sum
                                x += 1
                            }
                            y += 1
                        }
                    }
                }
            }
        }
    }

    /// Drives every pixel towards ridge or valley.
    private func sharpen(_ picture: inout [Float]) {
        var squares: Float = 0
        for value in picture { squares += value * value }
        let deviation = (squares / Float(width * height)).squareRoot()
        guard deviation > 0 else { return }
        let gain = 2 / deviation
        for index in picture.indices where picture[index] != 0 {
            picture[index] = tanhf(picture[index] * gain)
        }
    }
}
