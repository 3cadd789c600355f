import SecretMemory

/// Numbers from the kernel's generator, every one as likely as every other.
enum RandomChoice {
    /// A number from 0 up to `bound`, which is at most 65,536.
    ///
    /// What lies in the incomplete last round of the 16-bit numbers is drawn again: a remainder alone would prefer
    /// small numbers.
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
