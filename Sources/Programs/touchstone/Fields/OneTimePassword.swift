import Crypto
import SecretMemory

/// The key of time-based one-time passwords (RFC 6238), from an `otpauth` URI as authenticator apps read it.
///
/// The URI's form is Google's "Key Uri Format": `otpauth://totp/LABEL?secret=BASE32`, with `algorithm` (SHA1, SHA256 or
/// SHA512), `digits` (6 to 8) and `period` (seconds) where they are not SHA1, 6 and 30.
struct OneTimePassword: ~Copyable {
    static let scheme = "otpauth://"
    /// The longest URI, in bytes.
    static let longest = 4096

    private enum Algorithm: String {
        case sha1 = "SHA1"
        case sha256 = "SHA256"
        case sha512 = "SHA512"
    }

    /// How its codes are made.
    private struct Form {
        var algorithm = Algorithm.sha1
        var digits = 6
        /// In seconds.
        var period: Int64 = 30

        /// Reads the parameters of a URI.
        init(_ parameters: [(name: String, value: String)]) throws(CommandError) {
            for (name, value) in parameters {
                switch name {
                case "algorithm":
                    guard let algorithm = Algorithm(rawValue: value.uppercased()) else {
                        throw OneTimePassword.refusal("its algorithm is neither SHA1, SHA256 nor SHA512")
                    }
                    self.algorithm = algorithm
                case "digits":
                    guard let digits = Int(value), (6...8).contains(digits) else {
                        throw OneTimePassword.refusal("its digits are not 6, 7 or 8")
                    }
                    self.digits = digits
                case "period":
                    guard let period = Int64(value), (1...86_400).contains(period) else {
                        throw OneTimePassword.refusal("its period is not 1 to 86400 seconds")
                    }
                    self.period = period
                case "encoder": throw OneTimePassword.refusal("its codes are not digits")
                default: break
                }
            }
        }
    }

    private let key: SecretBytes
    private let form: Form

    /// Reads a URI.
    ///
    /// - Throws: ``CommandError`` for one of another form; the key is not quoted.
    init(uri: borrowing SecretBytes) throws(CommandError) {
        var parameters: [(name: String, value: String)] = []
        let key = try uri.withOctets { octets throws(CommandError) in
            let start = Self.scheme.utf8.count
            let slash = (min(start, octets.count)..<octets.count).first { octets[$0] == UInt8(ascii: "/") }
            let kind = Self.text(octets.extracting(min(start, octets.count)..<(slash ?? octets.count)))
            guard kind.lowercased() != "hotp" else {
                throw Self.refusal(
                    "codes that count (hotp) are not supported; the site may offer codes by time"
                )
            }
            guard kind.lowercased() == "totp" else {
                throw Self.refusal("it is not of the form otpauth://totp/…")
            }
            var parameter = (0..<octets.count).first { octets[$0] == UInt8(ascii: "?") } ?? octets.count
            var key: Range<Int>?
            while parameter < octets.count {
                let begin = parameter + 1
                parameter = (begin..<octets.count).first { octets[$0] == UInt8(ascii: "&") } ?? octets.count
                guard let equals = (begin..<parameter).first(where: { octets[$0] == UInt8(ascii: "=") })
                else {
                    continue
                }
                let name = Self.text(octets.extracting(begin..<equals)).lowercased()
                if name == "secret" {
                    key = (equals + 1)..<parameter
                } else {
                    parameters.append((name, Self.text(octets.extracting((equals + 1)..<parameter))))
                }
            }
            guard let key else { throw Self.refusal("it has no secret=…") }
            return try Self.decoded(octets.extracting(key))
        }
        form = try Form(parameters)
        self.key = key
    }

    /// The URI of a key that a site shows as text, with `name` as its label.
    ///
    /// - Throws: ``CommandError`` if the text is not base32.
    static func uri(ofKey text: borrowing SecretBytes, named name: ItemName) throws(CommandError)
        -> SecretBytes
    {
        var buffer = try CommandMemory.buffer(text.count + 3 * name.text.utf8.count + 32)
        let label = CredentialName.escaped(Array(name.text.utf8), keeping: "/?#&=:\"<>\\^`{|}")
        buffer.append(text: "\(scheme)totp/\(label)?secret=")
        text.withOctets { octets in
            for index in octets.indices where !isFiller(octets[index]) { buffer.append(octets[index]) }
        }
        return try CommandMemory.finish(buffer)
    }

    /// For how many seconds after `time`, in seconds since 1970, its code stays the present one.
    func secondsLeft(at time: Int64) -> Int64 { form.period - time % form.period }

    /// The code at a time, in seconds since 1970.
    func code(at time: Int64) throws(CommandError) -> SecretBytes {
        let count = UInt64(time / form.period)
        let message = (0..<8).map { UInt8(truncatingIfNeeded: count >> (56 - 8 * $0)) }
        let code =
            switch form.algorithm {
            case .sha1: try authenticationCode(Insecure.SHA1.self, of: message)
            case .sha256: try authenticationCode(SHA256.self, of: message)
            case .sha512: try authenticationCode(SHA512.self, of: message)
            }
        // RFC 4226, section 5.3.
        let offset = Int(code[code.count - 1] & 0xF)
        var value = code[offset..<(offset + 4)].reduce(0) { $0 << 8 | UInt32($1) } & 0x7FFF_FFFF
        return try CommandMemory.make(form.digits) { octets in
            for index in octets.indices.reversed() {
                octets[index] = UInt8(ascii: "0") + UInt8(value % 10)
                value /= 10
            }
        }
    }

    /// HMAC (RFC 2104), not by the library, which copies the key to memory that is not locked.
    private func authenticationCode<H: HashFunction>(_: H.Type, of message: [UInt8]) throws(CommandError)
        -> [UInt8]
    {
        guard key.count > H.blockByteCount else { return try Self.authenticationCode(H.self, key, message) }
        // A digest in place of a long key.
        var hash = H()
        unsafe key.withUnsafeBytes { unsafe hash.update(bufferPointer: $0) }
        let digest = hash.finalize()
        let short = try CommandMemory.make(H.Digest.byteCount) { octets in
            for (index, octet) in digest.enumerated() { octets[index] = octet }
        }
        return try Self.authenticationCode(H.self, short, message)
    }

    /// The same for a key that is no longer than a block.
    private static func authenticationCode<H: HashFunction>(
        _: H.Type,
        _ key: borrowing SecretBytes,
        _ message: [UInt8]
    ) throws(CommandError) -> [UInt8] {
        var code = message
        for pad in [0x36, 0x5C] as [UInt8] {
            let block = try CommandMemory.make(H.blockByteCount) { block in
                for index in block.indices { block[index] = pad }
                key.withOctets { key in
                    for index in key.indices { block[index] ^= key[index] }
                }
            }
            var hash = H()
            unsafe block.withUnsafeBytes { unsafe hash.update(bufferPointer: $0) }
            hash.update(data: code)
            code = Array(hash.finalize())
        }
        return code
    }

    /// Base32 (RFC 4648, section 6) in any case, without regard to blanks, hyphens and padding, which may be `%3D`.
    private static func decoded(_ text: Span<UInt8>) throws(CommandError) -> SecretBytes {
        var buffer = try CommandMemory.buffer(64)
        var (bits, count) = (UInt32(0), 0)
        var index = 0
        while index < text.count {
            var octet = text[index]
            index += 1
            if octet == UInt8(ascii: "%"), index + 2 <= text.count {
                let digits = Self.text(text.extracting(index..<(index + 2)))
                octet = UInt8(digits, radix: 16) ?? octet
                index += 2
            }
            if isFiller(octet) { continue }
            let value: UInt8
            switch octet {
            case UInt8(ascii: "A")...UInt8(ascii: "Z"): value = octet - UInt8(ascii: "A")
            case UInt8(ascii: "a")...UInt8(ascii: "z"): value = octet - UInt8(ascii: "a")
            case UInt8(ascii: "2")...UInt8(ascii: "7"): value = octet - UInt8(ascii: "2") + 26
            default: throw refusal("the key is not base32: letters and the digits 2 to 7")
            }
            bits = bits << 5 | UInt32(value)
            count += 5
            guard count >= 8 else { continue }
            count -= 8
            buffer.append(UInt8(truncatingIfNeeded: bits >> count))
        }
        guard buffer.count > 0 else { throw refusal("the key is empty") }
        return try CommandMemory.finish(buffer)
    }

    private static func isFiller(_ octet: UInt8) -> Bool {
        [UInt8(ascii: " "), UInt8(ascii: "-"), UInt8(ascii: "="), 0x09, 0x0A, 0x0D].contains(octet)
    }

    private static func text(_ octets: Span<UInt8>) -> String {
        String(decoding: octets.indices.map { octets[$0] }, as: UTF8.self)
    }

    static func refusal(_ reason: String) -> CommandError {
        CommandError(
            "this is no key of one-time codes: \(reason)",
            hint: "give the otpauth:// address or the key that the site shows"
        )
    }
}
