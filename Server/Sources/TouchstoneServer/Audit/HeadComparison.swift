internal import AccountStore
internal import Foundation

/// Compares the audit with the heads of a file.
struct HeadComparison {
    private let file: AuditHeadFile
    /// A head that has to be in the file; nil: any.
    private let required: [UInt8]?
    /// The time for which events are kept; nil: for ever.
    private let retention: Duration?
    private var agreeing = 0
    private var expired = 0
    private var first: AuditHead?
    private var last: AuditHead?
    private var hasRequired = false

    /// Understands the option `--head`.
    ///
    /// - Parameters:
    ///   - text: 64 hexadecimal digits, or the path of a file.
    ///   - configuration: the settings, which name the file for a head in digits.
    /// - Throws: ``ConfigurationFault``.
    init(_ text: String, _ configuration: ServerConfiguration) throws(ConfigurationFault) {
        let hours = configuration.auditRetention
        retention = hours == 0 ? nil : .seconds(hours * 3600)
        guard let value = [UInt8](hexadecimal: text), value.count == 32 else {
            file = AuditHeadFile(path: text)
            required = nil
            return
        }
        guard let path = configuration.auditHeadFile else {
            throw ConfigurationFault(
                place: "--head",
                reason: "in digits is looked up in audit-head-file, which is not set: name a file of heads"
            )
        }
        file = AuditHeadFile(path: path)
        required = value
    }

    /// Reads the file and the events of each of its heads.
    ///
    /// - Throws: ``AuditTampering``; ``StoreError``; ``ConfigurationFault`` for a file that cannot be read or has no head.
    mutating func compare(_ store: any AccountStore, now: Timestamp) async throws {
        var comparison = self
        try await file.forEach { head, line in
            // A line that was cut off when it was written; the next head shows whether one is missing.
            guard let head else { return }
            try await comparison.compare(head, line, store, now)
        }
        self = comparison
        guard last != nil else {
            throw ConfigurationFault(place: file.path, reason: "has no head of the audit")
        }
        guard required == nil || hasRequired else {
            throw AuditTampering(
                description: "the head \((required ?? []).hexadecimal) is not in \(file.path)"
            )
        }
    }

    private mutating func compare(
        _ head: AuditHead,
        _ line: Int,
        _ store: any AccountStore,
        _ now: Timestamp
    ) async throws {
        if let last, head.previous != last.value || head.after != last.position {
            throw AuditTampering(
                description:
                    "\(file.path), line \(line): does not follow the head before, so lines were changed or removed"
            )
        }
        if first == nil { first = head }
        last = head
        if head.value == required { hasRequired = true }
        let page = try await store.auditPage(after: head.after, count: head.count + 1)
        let records = page.filter { $0.position <= head.position }
        if head.covers(records) {
            agreeing += 1
        } else if let retention, head.oldest < now - retention {
            expired += 1
        } else {
            throw AuditTampering(
                description: """
                    the audit log was changed: events with positions after \(head.after) up to \(head.position) are not \
                    those of the head in \(file.path), line \(line); there were \(head.count), there are \(records.count)
                    """
            )
        }
    }

    /// The result in words.
    var text: String {
        let range = "positions after \(first?.after ?? 0) up to \(last?.position ?? 0)"
        return "heads that agree: \(agreeing)" + (expired == 0 ? "" : ", with expired events: \(expired)")
            + ", \(range)"
    }
}
