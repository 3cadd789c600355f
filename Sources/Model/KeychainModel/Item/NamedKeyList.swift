internal import CBOR
internal import SecretMemory

extension EncodedItems {
    /// The named keys among these items, in their order; the items were looked up with their attributes.
    public borrowing func namedKeys() -> [NamedKey] {
        let count = count
        return octets.withOctets { octets in
            // The store wrote them.
            let read = try? CBORReader.read(octets, limits: Frame.limits) { reader in
                try (0..<count).map { _ in try reader.readNamedKey() }
            }
            return read?.compactMap(\.self) ?? []
        }
    }
}

extension CBORReader {
    fileprivate mutating func readNamedKey() throws -> NamedKey? {
        var key: NamedKey?
        for _ in 0..<(try readMapHead()) {
            guard try readUnsigned() == ItemField.attributes else { throw WireError.malformed }
            key = NamedKey(try readAttributes())
        }
        return key
    }
}
