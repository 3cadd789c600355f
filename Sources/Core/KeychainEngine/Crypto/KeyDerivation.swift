internal import Primitives
internal import SecretMemory

/// HKDF with a label for each use, so that no key has two uses.
enum KeyDerivation {
    /// HKDF's `info` for a use; `way` distinguishes the keys of one use.
    static func info(_ label: KeyLabel, way: UInt8? = nil) -> [UInt8] {
        Array("touchstone 1 \(label.rawValue)\(way.map { " \($0)" } ?? "")".utf8)
    }

    /// Derives a key from one secret.
    static func derive(
        _ label: KeyLabel,
        way: UInt8? = nil,
        from secret: UnsafeRawBufferPointer,
        salt: [UInt8]
    ) -> Key {
        let info = info(label, way: way)
        return Key(
            unsafe SecretBytes(octetCount: Key.byteCount) { key in
                unsafe HKDF.derive(from: secret, salt: salt, info: info, into: key)
            }
        )
    }

    /// Derives a key from the concatenation of several secrets; each position has a fixed length.
    static func derive(_ label: KeyLabel, way: UInt8? = nil, from secrets: [Key], salt: [UInt8]) -> Key {
        var joined = SecretBuffer(minimumCapacity: secrets.count * Key.byteCount)
        for secret in secrets {
            unsafe secret.withUnsafeBytes { unsafe joined.append(contentsOf: $0) }
        }
        return unsafe joined.withUnsafeBytes { unsafe derive(label, way: way, from: $0, salt: salt) }
    }
}
