/// An odd modulus for the raw RSA public-key operation (Handbook of Applied Cryptography, algorithm 14.36).
///
/// The crypto library offers that operation only together with its own paddings. The book is by Menezes, van Oorschot
/// and Vanstone. The time depends on lengths and on the exponent, never on the base: it may be a padded message.
public struct MontgomeryModulus: Sendable, Hashable {
    /// The limbs, least significant first.
    private let limbs: [UInt64]
    /// The negative inverse of the least significant limb, modulo 2^64.
    private let inverse: UInt64
    /// The square of 2^(64 · limbs), modulo this modulus: converts a number to Montgomery form.
    private let radixSquared: [UInt64]

    /// Takes a big-endian number; nil for an even one or 0.
    public init?(_ octets: [UInt8]) {
        let octets = Array(octets.drop { $0 == 0 })
        guard let first = octets.first, let last = octets.last, last & 1 == 1 else { return nil }
        limbs = Self.limbs(of: octets, count: (octets.count + 7) / 8)
        // Newton's iteration doubles the number of correct bits: 3, 6, 12, 24, 48, 96.
        var inverse = limbs[0]
        for _ in 0..<5 { inverse = inverse &* (2 &- limbs[0] &* inverse) }
        self.inverse = 0 &- inverse
        // From the highest power of two below the modulus: double up to 2^(radix + odd), then square up to 2^(2 ·
        // radix).
        let radix = 64 * limbs.count
        let start = 8 * octets.count - first.leadingZeroBitCount - 1
        let odd = radix >> radix.trailingZeroBitCount
        var power = [UInt64](repeating: 0, count: limbs.count)
        power[start / 64] = 1 << (start % 64)
        for _ in start..<(radix + odd) { power = Self.doubled(power, modulo: limbs) }
        for _ in 0..<radix.trailingZeroBitCount {
            power = Self.multiply(power, power, modulo: limbs, self.inverse)
        }
        radixSquared = power
    }

    /// `base` to the power of `exponent`, with the length of `base`; all big-endian.
    ///
    /// - Returns: nil if the base is not below the modulus.
    public func raise(_ base: [UInt8], to exponent: [UInt8]) -> [UInt8]? {
        guard base.count <= 8 * limbs.count else { return nil }
        let number = Self.limbs(of: base, count: limbs.count)
        guard Self.subtract(limbs, from: number, carry: 0).borrow == 1 else { return nil }
        var one = [UInt64](repeating: 0, count: limbs.count)
        one[0] = 1
        var result = multiply(one, radixSquared)
        let factor = multiply(number, radixSquared)
        for octet in exponent {
            for bit in (0..<8).reversed() {
                result = multiply(result, result)
                if octet >> bit & 1 == 1 { result = multiply(result, factor) }
            }
        }
        result = multiply(result, one)
        return (0..<base.count).reversed().map { UInt8(truncatingIfNeeded: result[$0 / 8] >> (8 * ($0 % 8))) }
    }

    private func multiply(_ a: [UInt64], _ b: [UInt64]) -> [UInt64] {
        Self.multiply(a, b, modulo: limbs, inverse)
    }

    private static func limbs(of octets: [UInt8], count: Int) -> [UInt64] {
        var limbs = [UInt64](repeating: 0, count: count)
        for (index, octet) in octets.reversed().enumerated() {
            limbs[index / 8] |= UInt64(octet) << (8 * (index % 8))
        }
        return limbs
    }

    /// a · b / 2^(64 · limbs), modulo `modulus`.
    private static func multiply(
        _ a: [UInt64],
        _ b: [UInt64],
        modulo modulus: [UInt64],
        _ inverse: UInt64
    ) -> [UInt64] {
        let count = modulus.count
        var sum = [UInt64](repeating: 0, count: count)
        var top: UInt64 = 0
        for factor in b {
            // Adds a · factor and the multiple of the modulus that makes the least significant limb zero, and drops
            // that limb.
            var (carry, low) = multiplyAdding(a[0], factor, sum[0], 0)
            let multiple = low &* inverse
            var (reduction, _) = multiplyAdding(modulus[0], multiple, low, 0)
            for index in 1..<count {
                (carry, low) = multiplyAdding(a[index], factor, sum[index], carry)
                (reduction, sum[index - 1]) = multiplyAdding(modulus[index], multiple, low, reduction)
            }
            let (first, firstOverflow) = top.addingReportingOverflow(carry)
            let (second, secondOverflow) = first.addingReportingOverflow(reduction)
            sum[count - 1] = second
            top = (firstOverflow ? 1 : 0) &+ (secondOverflow ? 1 : 0)
        }
        return reduced(sum, carry: top, modulo: modulus)
    }

    /// a · b + c + d, which always fits into two limbs.
    private static func multiplyAdding(
        _ a: UInt64,
        _ b: UInt64,
        _ c: UInt64,
        _ d: UInt64
    ) -> (high: UInt64, low: UInt64) {
        let product = a.multipliedFullWidth(by: b)
        let (first, firstOverflow) = product.low.addingReportingOverflow(c)
        let (second, secondOverflow) = first.addingReportingOverflow(d)
        return (product.high &+ (firstOverflow ? 1 : 0) &+ (secondOverflow ? 1 : 0), second)
    }

    private static func doubled(_ number: [UInt64], modulo modulus: [UInt64]) -> [UInt64] {
        var carry: UInt64 = 0
        var twice = number
        for index in twice.indices {
            let limb = twice[index]
            twice[index] = limb << 1 | carry
            carry = limb >> 63
        }
        return reduced(twice, carry: carry, modulo: modulus)
    }

    /// Subtracts the modulus once if the number is not below it, without a branch on the number.
    private static func reduced(_ number: [UInt64], carry: UInt64, modulo modulus: [UInt64]) -> [UInt64] {
        var (difference, borrow) = subtract(modulus, from: number, carry: carry)
        let keep = 0 &- borrow
        for index in difference.indices {
            difference[index] = number[index] & keep | difference[index] & ~keep
        }
        return difference
    }

    /// The difference, and 1 if it is negative; `carry` is the number's highest limb.
    private static func subtract(
        _ modulus: [UInt64],
        from number: [UInt64],
        carry: UInt64
    ) -> (difference: [UInt64], borrow: UInt64) {
        var borrow: UInt64 = 0
        var difference = number
        for index in difference.indices {
            let (first, firstOverflow) = difference[index].subtractingReportingOverflow(modulus[index])
            let (second, secondOverflow) = first.subtractingReportingOverflow(borrow)
            difference[index] = second
            borrow = (firstOverflow ? 1 : 0) | (secondOverflow ? 1 : 0)
        }
        return (difference, borrow & ~carry)
    }
}
