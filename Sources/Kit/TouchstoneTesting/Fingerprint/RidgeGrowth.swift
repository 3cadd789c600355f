import Glibc

/// Ridges that grow out of noise (the idea of Cappelli's SFinGe): filtered again and again along a field.
///
/// The filter is a wave of one ridge period across the ridge and a smooth window along it. It is applied in
/// two passes of one dimension each, along the pixel's own direction.
struct RidgeGrowth {
    /// Pixels from ridge to ridge: 500 dpi.
    private static let ridgePeriod = 9.0
    /// Filters over half a turn.
    private static let directionCount = 32
    /// The window's standard deviation, pixels.
    private static let deviation = 3.6
    /// Pixels to each side that a filter reaches.
    private static let reach = 11
    private static let rounds = 12

    private let width: Int
    private let height: Int
    /// Pixels in a row with its margins, where nothing ever is.
    private let stride: Int

    init(width: Int, height: Int) {
        self.width = width
        self.height = height
        stride = width + 2 * Self.reach
    }

    /// -1 (valley) to 1 (ridge), row by row.
    func ridges(along field: OrientationField, using random: inout SplitMix64) -> [Float] {
        let directions = directions(of: field)
        let across = taps(along: false), along = taps(along: true)
        var picture = [Float](repeating: 0, count: stride * (height + 2 * Self.reach))
        var filtered = picture
        for y in 0..<height {
            for x in 0..<width { picture[index(x, y)] = Float(random.normal()) }
        }
        for _ in 0..<Self.rounds {
            apply(across, directions, from: picture, to: &filtered)
            apply(along, directions, from: filtered, to: &picture)
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

    // MARK: Filters

    /// Weights, and for each direction where they are taken.
    private struct Taps {
        let weights: [Float]
        let offsets: [Int]
    }

    private func taps(along: Bool) -> Taps {
        let places = -Self.reach...Self.reach
        var weights = places.map { place in
            let distance = Double(place)
            let window = exp(-distance * distance / (2 * Self.deviation * Self.deviation))
            return along ? window : window * cos(2 * .pi * distance / Self.ridgePeriod)
        }
        if !along {
            let mean = weights.reduce(0, +) / Double(weights.count)
            weights = weights.map { $0 - mean }
        }
        var offsets: [Int] = []
        for direction in 0..<Self.directionCount {
            let angle = .pi * Double(direction) / Double(Self.directionCount)
            let (dx, dy) = along ? (cos(angle), sin(angle)) : (-sin(angle), cos(angle))
            for place in places {
                let (x, y) = ((Double(place) * dx).rounded(), (Double(place) * dy).rounded())
                offsets.append(Int(y) * stride + Int(x))
            }
        }
        return Taps(weights: weights.map(Float.init), offsets: offsets)
    }

    private func apply(_ taps: Taps, _ directions: [Int], from source: [Float], to result: inout [Float]) {
        let count = taps.weights.count
        // Plain pointers: checked subscripts make an unoptimised build twenty times slower.
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
                                var sum: Float = 0
                                var tap = 0
                                while tap < count {
                                    unsafe sum += weights[tap] * source[place + offsets[first + tap]]
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
