internal import CBOR
import CTSS2
import KeychainModel

/// Notes which indices are this keychain's: each is noted before it is created.
///
/// The chip itself cannot tell one keychain's index from that of another one in use.
extension TPM {
    /// A random handle for a new index.
    ///
    /// An index at a noted handle gets removed: so with notes the handle has to be free.
    func freeHandle(on connection: TPMConnection) throws(TPMError) -> TPM2_HANDLE {
        let taken = notes == nil ? [] : Set(try connection.handles(from: NVIndex.handles.lowerBound))
        while true {
            let handle = TPM2_HANDLE.random(in: NVIndex.handles)
            if !taken.contains(handle) { return handle }
        }
    }

    /// Notes that an index will belong to this keychain.
    func note(_ place: TPMBlob) throws(TPMError) {
        guard let notes else { return }
        try Self.write(Self.read(notes) + [place], notes)
    }

    /// Removes the note of an index.
    func forgetNote(of place: TPMBlob) throws(TPMError) {
        guard let notes else { return }
        let noted = try Self.read(notes)
        let kept = noted.filter { !$0.isAtPlace(of: place) }
        if kept.count < noted.count { try Self.write(kept, notes) }
    }

    /// Removes all noted indices of these kinds, except those of `blobs`, which stay noted.
    ///
    /// An index that cannot be removed now stays noted, including one in another chip.
    func removeLeftovers(_ kinds: Set<TPMBlob.Kind>, keeping blobs: [[UInt8]]) {
        guard let notes, let noted = try? Self.read(notes) else { return }
        let kept = blobs.compactMap { blob in
            kinds.lazy.compactMap { try? TPMBlob(blob, $0) }.first
        }
        for place in noted where kinds.contains(place.kind) && !kept.contains(where: place.isAtPlace) {
            try? remove(place)
        }
    }

    private static func read(_ notes: any HardwareNotes) throws(TPMError) -> [TPMBlob] {
        do {
            let octets = try notes.read()
            guard !octets.isEmpty else { return [] }
            let blobs = try CBORReader.read(octets, limits: CBORLimits(depth: 1)) { reader in
                try (0..<(try reader.readArrayHead())).map { _ in try reader.readBytes() }
            }
            return try blobs.map { try TPMBlob(noted: $0) }
        } catch let error as KeychainError {
            throw .unnoted(error)
        } catch {
            // Damaged notes count as empty.
            return []
        }
    }

    private static func write(_ places: [TPMBlob], _ notes: any HardwareNotes) throws(TPMError) {
        var writer = CBORWriter<[UInt8]>([])
        writer.writeArrayHead(count: places.count)
        for place in places { writer.write(bytes: place.encoded()) }
        do throws(KeychainError) {
            try notes.write(writer.finish())
        } catch {
            throw .unnoted(error)
        }
    }
}
