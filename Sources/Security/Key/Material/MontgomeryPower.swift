/// Raises numbers to a public exponent, which the library does only between its own paddings.
///
/// The time depends on lengths and on the exponent, never on the number: it may be a padded message.
enum MontgomeryPower {
    /// `base` to the power of `exponent`, as long as `base`; all big-endian.
    ///
    /// - Returns: nil when the modulus is even or the base is not below it.
    static func raise(_ base: [UInt8], to exponent: [UInt8], modulo modulus: [UInt8]) -> [UInt8]? {
        let limbCount = (modulus.count + 7) / 8
        guard base.count <= limbCount * 8, let modulus = Modulus(limbs(of: modulus, count: limbCount)) else {
            return nil
        }
        let number = limbs(of: base, count: limbCount)
        guard modulus.isAbove(number) else { return nil }
        var result = modulus.multiply(modulus.one, modulus.radixSquared)
        let factor = modulus.multiply(number, modulus.radixSquared)
        for octet in exponent {
            for bit in (0..<8).reversed() {
                result = modulus.multiply(result, result)
                if octet >> bit & 1 == 1 { result = modulus.multiply(result, factor) }
            }
        }
        return octets(of: modulus.multiply(result, modulus.one), count: base.count)
    }

    private static func limbs(of octets: [UInt8], count: Int) -> [UInt64] {
        var limbs = [UInt64](repeating: 0, count: count)
        for (index, octet) in octets.reversed().enumerated() {
            limbs[index / 8] |= UInt64(octet) << (8 * (index % 8))
        }
        return limbs
    }

    private static func octets(of limbs: [UInt64], count: Int) -> [UInt8] {
        (0..<count).reversed().map { UInt8(truncatingIfNeeded: limbs[$0 / 8] >> (8 * ($0 % 8))) }
    }
}

/// An odd modulus, by limbs from the least on (Menezes, van Oorschot, Vanstone: algorithm 14.36).
private struct Modulus {
    private let limbs: [UInt64]
    /// The negative inverse of the least limb, modulo 2^64.
    private let inverse: UInt64
    /// 1.
    let one: [UInt64]
    /// The square of 2^(64 · limbs), modulo this: brings a number into Montgomery's form.
    private(set) var radixSquared: [UInt64]

    init?(_ limbs: [UInt64]) {
        guard let least = limbs.first, least & 1 == 1 else { return nil }
        self.limbs = limbs
        // Newton's iteration doubles the bits that are right: 3, 6, 12, 24, 48, 96.
        var inverse = least
        for _ in 0..<5 { inverse = inverse &* (2 &- least &* inverse) }
        self.inverse = 0 &- inverse
        var one = [UInt64](repeating: 0, count: limbs.count)
        one[0] = 1
        self.one = one
        radixSquared = one
        // Public: doubles 1 as often as the square has bits.
        for _ in 0..<(128 * limbs.count) { radixSquared = doubled(radixSquared) }
    }

    /// Whether `number` is smaller.
    func isAbove(_ number: [UInt64]) -> Bool { subtract(number, carry: 0).borrow == 1 }

    /// a · b / 2^(64 · limbs).
    func multiply(_ a: [UInt64], _ b: [UInt64]) -> [UInt64] {
        let count = limbs.count
        var sum = [UInt64](repeating: 0, count: count + 2)
        for limb in b {
            Self.add(a, times: limb, to: &sum)
            Self.add(limbs, times: sum[0] &* inverse, to: &sum)
            for index in 0...count { sum[index] = sum[index + 1] }
            sum[count + 1] = 0
        }
        return reduced(Array(sum[..<count]), carry: sum[count])
    }

    /// Adds `limbs` · `factor` to `sum`, which is two limbs longer.
    private static func add(_ limbs: [UInt64], times factor: UInt64, to sum: inout [UInt64]) {
        var carry: UInt64 = 0
        for index in 0..<limbs.count {
            let product = limbs[index].multipliedFullWidth(by: factor)
            let (first, firstOverflow) = sum[index].addingReportingOverflow(product.low)
            let (second, secondOverflow) = first.addingReportingOverflow(carry)
            sum[index] = second
            carry = product.high &+ (firstOverflow ? 1 : 0) &+ (secondOverflow ? 1 : 0)
        }
        let (low, overflow) = sum[limbs.count].addingReportingOverflow(carry)
        sum[limbs.count] = low
        sum[limbs.count + 1] &+= overflow ? 1 : 0
    }

    private func doubled(_ number: [UInt64]) -> [UInt64] {
        var carry: UInt64 = 0
        let twice = number.map { limb in
            defer { carry = limb >> 63 }
            return limb << 1 | carry
        }
        return reduced(twice, carry: carry)
    }

    /// Takes the modulus off once if the number is not below it, with no branch on the number.
    private func reduced(_ number: [UInt64], carry: UInt64) -> [UInt64] {
        let (difference, borrow) = subtract(number, carry: carry)
        let keep = 0 &- borrow
        return zip(number, difference).map { $0 & keep | $1 & ~keep }
    }

    private func subtract(_ number: [UInt64], carry: UInt64) -> (difference: [UInt64], borrow: UInt64) {
        var borrow: UInt64 = 0
        let difference = zip(number, limbs).map { limb, part in
            let (first, firstOverflow) = limb.subtractingReportingOverflow(part)
            let (second, secondOverflow) = first.subtractingReportingOverflow(borrow)
            borrow = (firstOverflow ? 1 : 0) | (secondOverflow ? 1 : 0)
            return second
        }
        return (difference, carry >= borrow ? 0 : 1)
    }
}
