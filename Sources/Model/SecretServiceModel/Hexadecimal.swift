/// Lower-case hexadecimal digits.
package enum Hexadecimal {
    /// Two digits for each byte.
    package static func text(_ octets: some Sequence<UInt8>) -> String {
        let digits = Array("0123456789abcdef".utf8)
        var text: [UInt8] = []
        for octet in octets { text += [digits[Int(octet >> 4)], digits[Int(octet & 15)]] }
        return String(decoding: text, as: UTF8.self)
    }
}
