internal import KeychainModel

/// Reads the tags: at the first unlock if there is one section, otherwise each section when it is needed.
///
/// Tags stay in memory after they were read, so that later writes to the file by others cannot change an answer.
extension ItemStore {
    /// Adopts a recorded digest, and reads the tags of a store of one section.
    func takeSet(_ digest: ItemSetDigest?, _ context: ItemContext) throws(KeychainError) {
        guard let digest else { throw loseSet() }
        itemSet = ItemSetState(digest: digest, unread: Set(digest.sections.indices))
        if digest.sections.count == 1 { try readWholeSet(context) }
    }

    /// Ensures that the section of a row has been read.
    func readSection(of row: Int64, _ context: ItemContext) throws(KeychainError) {
        guard !itemSet.isWhole, let digest = itemSet.digest else { return }
        let place = digest.section(of: ItemTags.group(of: row))
        if itemSet.unread.contains(place) { try readSection(place, context) }
    }

    /// Ensures that all tags have been read: before any change, and before an item is reported missing.
    func readWholeSet(_ context: ItemContext) throws(KeychainError) {
        guard !itemSet.isWhole, let digest = itemSet.digest else { return }
        let count = digest.sections.reduce(0 as UInt64) { $0 &+ $1.sum.count }
        itemSet.tags.reserve(Int(clamping: count))
        let progress = WorkProgress.current
        while let place = itemSet.unread.min() {
            progress?.note(place, of: digest.sections.count)
            try readSection(place, context)
        }
    }

    /// ``readWholeSet(_:)``, except that a damaged set is not an error: the digest is nil afterwards.
    func readWholeSetIfSound(_ context: ItemContext) throws(KeychainError) {
        do throws(KeychainError) {
            try readWholeSet(context)
        } catch {
            guard error.cause == .setDamaged else { throw error }
        }
    }

    /// Reads one of the unread sections.
    func readNextSection(_ context: ItemContext) throws(KeychainError) {
        if let place = itemSet.unread.min() { try readSection(place, context) }
    }

    private func readSection(_ place: Int, _ context: ItemContext) throws(KeychainError) {
        guard let digest = itemSet.digest else { return }
        let isWhole: Bool
        do throws(KeychainError) {
            isWhole = try ItemDatabase.translatingErrors {
                try readSection(place, of: digest, into: &itemSet.tags, context)
            }
        } catch {
            guard error.status == .decode else {
                // A part of the section may be among the tags already.
                itemSet = ItemSetState()
                needsReopening = true
                throw error
            }
            throw loseSet()
        }
        guard isWhole else { throw loseSet() }
        itemSet.unread.remove(place)
        if itemSet.isWhole { rows.start(after: itemSet.tags.last) }
    }

    /// Discards the set after damage: no row can be proved current, and from here on none is read.
    private func loseSet() -> KeychainError {
        itemSet = ItemSetState()
        sweepState = nil
        comparison = nil
        health.isSetAuthentic = false
        health.faults.append(Self.setIsDamaged)
        return KeychainError(.decode, cause: .setDamaged, remedy: .check)
    }
}
