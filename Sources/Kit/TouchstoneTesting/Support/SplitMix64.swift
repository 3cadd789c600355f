import Glibc

/// Steele, Lea and Flood's SplitMix64: the same numbers from the same seed, on every machine.
package struct SplitMix64: RandomNumberGenerator {
    private var state: UInt64

    package init(seed: UInt64) { state = seed }

    package mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }

    /// At least 0 and less than 1.
    mutating func unit() -> Double { Double(next() >> 11) * 0x1p-53 }

    /// From the normal distribution (Box and Muller).
    mutating func normal(_ mean: Double = 0, _ deviation: Double = 1) -> Double {
        let radius = (-2 * log(1 - unit())).squareRoot()
        return mean + deviation * radius * cos(2 * .pi * unit())
    }
}
