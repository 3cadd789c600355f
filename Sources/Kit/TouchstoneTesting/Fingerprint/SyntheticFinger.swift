import Glibc
import SecretMemory

/// A synthetic finger: each number is a different one, always with the same ridges.
///
/// libfprint's matcher accepts its impressions as those of a real finger: impressions of one finger match one another,
/// those of different fingers do not.
///
/// ```swift
/// try await Enroller(bus).enrol(SyntheticFinger(1))
/// try await VirtualReader(bus).touch(SyntheticFinger(1).impression(7))
/// ```
package final class SyntheticFinger: Sendable {
    /// Pixels in a row of a picture.
    package static let width = 256
    /// Rows of a picture.
    package static let height = 300

    /// The number that identifies the finger.
    package let number: Int
    private let ridges: [Float]

    private static let drawn = Guarded<[Int: [Float]]>([:])

    /// Draws the ridges, or reuses those drawn before.
    package init(_ number: Int) {
        self.number = number
        ridges = Self.drawn.withLock { drawn in
            if let ridges = drawn[number] { return ridges }
            let ridges = Self.draw(number)
            drawn[number] = ridges
            return ridges
        }
    }

    private static func draw(_ number: Int) -> [Float] {
        var random = SplitMix64(seed: UInt64(bitPattern: Int64(number)))
        let patterns = OrientationField.Pattern.allCases
        let pattern = patterns[abs(number) % patterns.count]
        let field = OrientationField(pattern, width: width, height: height, using: &random)
        return RidgeGrowth(width: width, height: height).ridges(along: field, using: &random)
    }

    /// One touch: rotated and shifted a little, noisy, cut to an oval; the same number gives the same picture.
    package func impression(_ touch: Int, noise: Double = 0.3) -> FingerPicture {
        var random = SplitMix64(seed: UInt64(bitPattern: Int64(1000 &* number &+ touch)) ^ 0x746F_7563_68)
        let placement = Placement(
            angle: random.normal(0, 4) * .pi / 180,
            right: random.normal(0, 5),
            down: random.normal(0, 5)
        )
        let grain = Self.grain(using: &random)
        var pixels = [UInt8](repeating: 255, count: Self.width * Self.height)
        for y in 0..<Self.height {
            for x in 0..<Self.width {
                let inside = Self.contact(x, y)
                guard inside > 0.001 else { continue }
                let index = y * Self.width + x
                let height = Double(ridge(at: placement.source(x, y))) + 2 * noise * Double(grain[index])
                let grey = (128 + 100 * height) * inside + 255 * (1 - inside)
                pixels[index] = UInt8(min(max(grey, 0), 255))
            }
        }
        return FingerPicture(width: Self.width, height: Self.height, pixels: pixels)
    }

    // MARK: One touch

    private struct Placement {
        let angle: Double
        let right: Double
        let down: Double

        /// The position on the finger of a pixel of the picture.
        func source(_ x: Int, _ y: Int) -> (x: Double, y: Double) {
            let (cx, cy) = (Double(SyntheticFinger.width) / 2, Double(SyntheticFinger.height) / 2)
            let (dx, dy) = (Double(x) - cx - right, Double(y) - cy - down)
            return (cx + dx * cos(angle) - dy * sin(angle), cy + dx * sin(angle) + dy * cos(angle))
        }
    }

    /// The ridge's height, interpolated between pixels; white outside the drawn area.
    private func ridge(at point: (x: Double, y: Double)) -> Float {
        let (left, top) = (Int(point.x.rounded(.down)), Int(point.y.rounded(.down)))
        guard left >= 0, top >= 0, left + 1 < Self.width, top + 1 < Self.height else { return 1 }
        let (right, down) = (Float(point.x) - Float(left), Float(point.y) - Float(top))
        let index = top * Self.width + left
        let upper = ridges[index] * (1 - right) + ridges[index + 1] * right
        let lower = ridges[index + Self.width] * (1 - right) + ridges[index + Self.width + 1] * right
        return upper * (1 - down) + lower * down
    }

    /// 1 where the finger lies on the glass, 0 beside it.
    private static func contact(_ x: Int, _ y: Int) -> Double {
        let across = (Double(x) - Double(width) / 2) / (Double(width) * 0.47)
        let along = (Double(y) - Double(height) / 2) / (Double(height) * 0.48)
        return 1 / (1 + exp((across * across + along * along - 0.93) * 40))
    }

    /// Noise one pixel wide: a binomial window, 1 4 6 4 1, in both directions.
    private static func grain(using random: inout SplitMix64) -> [Float] {
        var noise = (0..<width * height).map { _ in Float(random.normal()) }
        for step in [1, width] {
            let source = noise
            for index in 2 * step..<noise.count - 2 * step {
                let near = source[index - step] + source[index + step]
                let far = source[index - 2 * step] + source[index + 2 * step]
                noise[index] = (6 * source[index] + 4 * near + far) / 16
            }
        }
        return noise
    }
}
