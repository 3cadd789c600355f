/// The free pages of an items file (sqlite.org/fileformat2, section 1.5).
enum FreePages {
    /// Whether the pages that are listed as free hold nothing: otherwise the next changes would overwrite items.
    ///
    /// SQLite fills them with zeros (`secure_delete`), and does not compare them with the pages in use. `pageCount` is the
    /// size of the file in pages; `page` reads a page by number, from 1.
    static func areEmpty(pageCount: Int, page: (UInt32) -> [UInt8]?) -> Bool {
        guard let first = page(1), first.count >= 40 else { return false }
        let wanted = TableLeaf.number(first, 36)
        var seen: Set<UInt32> = [0, 1]
        func isNew(_ number: UInt32) -> Bool { number <= pageCount && seen.insert(number).inserted }
        var trunk = TableLeaf.number(first, 32)
        while trunk != 0 {
            // The number of the next trunk page, how many pages follow, and their numbers.
            guard isNew(trunk), let list = page(trunk) else { return false }
            let count = Int(TableLeaf.number(list, 4))
            guard count <= list.count / 4 - 2 else { return false }
            for index in 0..<count {
                let number = TableLeaf.number(list, 8 + 4 * index)
                guard isNew(number), page(number)?.allSatisfy({ $0 == 0 }) == true else { return false }
            }
            trunk = TableLeaf.number(list, 0)
        }
        return seen.count - 2 == Int(wanted)
    }
}
