internal import CBOR
import CTSS2
import KeychainModel

/// Finds the indices of a keychain that none of its blobs names any more: by the label that they carry, and by the notes.
///
/// Each index is noted before it is created. The notes serve for indices of earlier versions, which carry no label, and for
/// those in another chip.
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

    /// Removes all indices of a keychain and of these kinds, labelled or noted, except those of `blobs`.
    ///
    /// A noted index that cannot be removed now stays noted, including one in another chip.
    ///
    /// - Throws: ``KeychainError`` if an index in this chip may be left.
    func removeLeftovers(
        _ kinds: Set<TPMBlob.Kind>,
        keeping blobs: [[UInt8]],
        of label: KeychainLabel
    ) throws(KeychainError) {
        let kept = blobs.compactMap { blob in
            kinds.lazy.compactMap { try? TPMBlob(blob, $0) }.first
        }
        do throws(TPMError) {
            try withConnection { connection throws(TPMError) in
                for index in try connection.indices(with: label) where kinds.contains(where: index.isOf) {
                    let place = TPMBlob(
                        kind: .keybag,
                        primaryName: connection.primaryName,
                        index: index.handle
                    )
                    if !kept.contains(where: place.isAtPlace) { try connection.remove(index) }
                }
            }
            try removeNoted(kinds, keeping: kept)
        } catch {
            throw KeychainError(error)
        }
    }

    private func removeNoted(_ kinds: Set<TPMBlob.Kind>, keeping kept: [TPMBlob]) throws(TPMError) {
        guard let notes else { return }
        for place in try Self.read(notes)
        where kinds.contains(place.kind) && !kept.contains(where: place.isAtPlace) {
            do throws(TPMError) {
                try remove(place)
            } catch {
                guard error == .otherHardware else { throw error }
            }
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
