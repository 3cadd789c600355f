internal import KeychainModel
internal import Primitives

/// Deletes items whose end has come (``AttributeKey/ends``).
///
/// The keys that open the attributes are needed, so what ended before the first unlock is deleted after it.
extension SealedItems {
    /// The longest wait: the clock may be set meanwhile.
    private static let longestWait = Duration.seconds(6 * 3600)

    /// Waits for the next end, if one is known that is not waited for.
    func endLater(_ state: inout State) {
        guard let end = state.store?.nextEnd else { return }
        if let ending = state.ending {
            guard end < state.awaitedEnd else { return }
            ending.cancel()
        }
        state.awaitedEnd = end
        let first = max(wait(for: end), delays.sweep)
        state.ending = Task(priority: .background) { [weak self] in
            var wait: Duration? = first
            while let duration = wait {
                guard (try? await Task.sleep(for: duration)) != nil, !Task.isCancelled else { return }
                wait = self?.endOn()
            }
        }
    }

    private func wait(for end: Int64) -> Duration {
        min(.microseconds(max(0, end - wallClock())), Self.longestWait)
    }

    /// Reads the next rows and deletes those that have ended, or waits on.
    ///
    /// - Returns: how long to wait; nil if there is nothing to wait for.
    private func endOn() -> Duration? {
        guard
            let wait = withStateIfFree({ state -> Duration? in
                guard let store = state.store, let context = try? keys.context(), !state.isRepairing,
                    let wait = endOn(store, context, &state)
                else {
                    state.ending = nil
                    return nil
                }
                return wait
            })
        else { return Self.pause }
        return wait
    }

    private func endOn(_ store: ItemStore, _ context: ItemContext, _ state: inout State) -> Duration? {
        if store.endedRows == nil {
            guard let end = store.nextEnd else { return nil }
            guard end <= wallClock() else {
                state.awaitedEnd = end
                return max(wait(for: end), Self.pause)
            }
        }
        state.awaitedEnd = .min
        do throws(KeychainError) {
            let ended = try store.readEnded(by: wallClock(), context)
            if !ended.references.isEmpty {
                let query = ItemQuery(
                    itemClass: nil,
                    limit: .all,
                    returns: .invalidated,
                    references: ended.references
                )
                let search = try ItemSearch(query, groups: Array(ended.groups), in: context)
                commit([PendingWrite(.delete(ItemDeletion(search)))], &state)
            }
            return Self.pause
        } catch {
            // Damage is told by the sweep and by each use; the ends are read again after the next unlock.
            return nil
        }
    }
}

/// The progress of reading all rows for those that have ended.
struct EndedRows {
    /// The last row that was read.
    fileprivate var row = Int64.min
    /// The first end that is to come, of the rows read so far.
    fileprivate var next: Int64?
}

extension ItemStore {
    /// The rows read at once: about a millisecond.
    private static let rowsAtOnce = 128

    /// Notes when an item ends.
    func noteEnd(_ end: Int64?) {
        guard let end else { return }
        nextEnd = min(end, nextEnd ?? end)
    }

    /// Reads the next rows, and returns those that have ended by a time.
    fileprivate func readEnded(
        by time: Int64,
        _ context: ItemContext
    ) throws(KeychainError) -> (references: [PersistentReference], groups: Set<AccessGroup>) {
        // Until all rows were read; items stored meanwhile note their own.
        if endedRows == nil { (endedRows, nextEnd) = (EndedRows(), nil) }
        var rows = endedRows ?? EndedRows()
        var references: [PersistentReference] = []
        var groups: Set<AccessGroup> = []
        do throws(KeychainError) {
            let last = try ItemDatabase.translatingErrors {
                try ItemRow.forEach(database, hasData: false, after: rows.row, atMost: Self.rowsAtOnce) {
                    row in
                    guard let row else { return }
                    do {
                        try row.open(in: context) { header in
                            guard let end = unsafe AttributeMatch.date(of: .ends, in: header.attributes)
                            else {
                                return
                            }
                            guard end <= time else {
                                rows.next = min(end, rows.next ?? end)
                                return
                            }
                            guard let reference = PersistentReference(octets: unsafe Array(row.reference)),
                                let group = AccessGroup(header.groupName)
                            else { return }
                            references.append(reference)
                            groups.insert(group)
                        }
                    } catch is AEAD.NotAuthentic {}
                }
            }
            if let last {
                rows.row = last
                endedRows = rows
            } else {
                endedRows = nil
                noteEnd(rows.next)
            }
            return (references, groups)
        } catch {
            endedRows = nil
            noteEnd(time)
            throw error
        }
    }
}
