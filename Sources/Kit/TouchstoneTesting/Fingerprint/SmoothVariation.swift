import Glibc

/// A smooth function of the plane that is different for every finger: a sum of waves of random direction, length and phase.
struct SmoothVariation {
    private struct Wave {
        let perPixelRight: Double
        let perPixelDown: Double
        let phase: Double
        let amplitude: Double
    }

    private let waves: [Wave]

    /// Draws the waves.
    ///
    /// - Parameters:
    ///   - deviation: the root mean square of the values.
    ///   - lengths: the wavelengths, in pixels.
    ///   - count: the number of waves.
    ///   - random: the source of randomness.
    init(deviation: Double, lengths: ClosedRange<Double>, count: Int = 6, using random: inout SplitMix64) {
        let amplitude = deviation * (2 / Double(count)).squareRoot()
        waves = (0..<count).map { _ in
            let direction = 2 * Double.pi * random.unit()
            let length = lengths.lowerBound + (lengths.upperBound - lengths.lowerBound) * random.unit()
            let perPixel = 2 * Double.pi / length
            return Wave(
                perPixelRight: perPixel * cos(direction),
                perPixelDown: perPixel * sin(direction),
                phase: 2 * Double.pi * random.unit(),
                amplitude: amplitude
            )
        }
    }

    /// The value at a pixel.
    func value(x: Double, y: Double) -> Double {
        var sum = 0.0
        for wave in waves {
            sum += wave.amplitude * cos(wave.perPixelRight * x + wave.perPixelDown * y + wave.phase)
        }
        return sum
    }
}
