import SecretMemory

/// Uniformly distributed numbers from the kernel's generator.
enum RandomChoice {
    /// A number from 0 up to but excluding `bound`, which is at most 65,536.
    ///
    /// A 16-bit number in the incomplete last range is drawn again: a plain remainder would favour small numbers.
    static func number(below bound: Int) -> Int {
        precondition((1...0x10000).contains(bound), "no choice")
        let usable = 0x10000 / bound * bound
        while true {
            var drawn: UInt16 = 0
            unsafe withUnsafeMutableBytes(of: &drawn) { unsafe RandomBytes.fill($0) }
            if Int(drawn) < usable { return Int(drawn) % bound }
        }
    }
}
