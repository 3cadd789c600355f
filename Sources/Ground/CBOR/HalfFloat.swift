/// Half-precision numbers (IEEE 754 binary16), computed from their bits: not every platform has `Float16`.
internal enum HalfFloat {
    /// The only NaN of the deterministic form.
    static let nan: UInt16 = 0x7E00

    /// The half with exactly the value of `double`, if it exists; every NaN becomes ``nan``.
    static func bits(of double: Double) -> UInt16? {
        let sign: UInt16 = double.sign == .minus ? 0x8000 : 0
        let magnitude = double.magnitude
        switch magnitude {
        case _ where double.isNaN:
            return nan
        case .infinity:
            return sign | 0x7C00
        case 0:
            return sign
        case 0x1p-14..<0x1p16:
            // The fraction keeps its top 10 of 52 bits; the others have to be zero.
            guard magnitude.significandBitPattern & ((1 << 42) - 1) == 0 else { return nil }
            let exponent = UInt16(magnitude.exponent + 15)
            return sign | exponent << 10 | UInt16(magnitude.significandBitPattern >> 42)
        case ..<0x1p-14:
            // Subnormal: a whole number of 2^-24.
            guard let units = UInt16(exactly: magnitude * 0x1p24) else { return nil }
            return sign | units
        default:
            return nil
        }
    }

    /// The value of a half.
    static func value(of bits: UInt16) -> Double {
        let fraction = Double(bits & 0x3FF)
        let exponent = Int(bits >> 10 & 0x1F)
        let magnitude =
            switch exponent {
            case 0: fraction * 0x1p-24
            case 31: fraction == 0 ? Double.infinity : Double.nan
            default: Double(sign: .plus, exponent: exponent - 25, significand: fraction + 1024)
            }
        return bits & 0x8000 == 0 ? magnitude : -magnitude
    }
}
