internal import KeychainModel

/// Reading the tags: all of them at the first unlock where they are one section, else each section when it is needed.
///
/// What was read stays in memory, and so nothing that is written to the file later changes an answer.
extension ItemStore {
    /// Takes up a recorded digest, and the tags of a store of one section.
    func takeSet(_ digest: ItemSetDigest?, _ context: ItemContext) throws(KeychainError) {
        guard let digest else { throw loseSet() }
        itemSet = ItemSetState(digest: digest, unread: Set(digest.sections.indices))
        if digest.sections.count == 1 { try readWholeSet(context) }
    }

    /// Has the tag of a row in memory, if it has one.
    func readSection(of row: Int64, _ context: ItemContext) throws(KeychainError) {
        guard !itemSet.isWhole, let digest = itemSet.digest else { return }
        let place = digest.section(of: ItemTags.group(of: row))
        if itemSet.unread.contains(place) { try readSection(place, context) }
    }

    /// Has all tags in memory: before anything changes, and before it is said that something is not there.
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

    /// ``readWholeSet(_:)``; a set that is not what was recorded has no digest then.
    func readWholeSetIfSound(_ context: ItemContext) throws(KeychainError) {
        do throws(KeychainError) {
            try readWholeSet(context)
        } catch {
            guard error.cause == .setDamaged else { throw error }
        }
    }

    /// Reads one section of those that were not read yet.
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
                // A part of the section may be among the tags.
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

    /// Nothing says any more which rows are the newest: from here on none is read.
    private func loseSet() -> KeychainError {
        itemSet = ItemSetState()
        sweepState = nil
        comparison = nil
        health.isSetAuthentic = false
        health.faults.append(Self.setIsDamaged)
        return KeychainError(.decode, cause: .setDamaged, remedy: .check)
    }
}
