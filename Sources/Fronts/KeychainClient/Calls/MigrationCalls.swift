import CBOR
public import KeychainModel

/// Requests to move a keychain: a sealed export here, an import on another machine.
extension RemoteKeychain {
    /// Asks for the recovery code and delivers an export in parts.
    ///
    /// - Parameters:
    ///   - prompt: the prompt's fields.
    ///   - cancellation: cancels the request from another thread.
    ///   - progress: the number of sealed items and of all, before the first bytes; called on any thread, after
    ///     the first second.
    ///   - write: gets the next bytes and the total number of bytes; called on any thread. An error that it throws
    ///     ends the export.
    /// - Returns: what the export contains and what it omits. Without a report the bytes are not a complete
    ///   export.
    /// - Throws: ``KeychainError`` with `errSecAuthFailed` for a wrong code, and the errors of `write`.
    public func exportKeychain(
        _ prompt: PromptFields,
        cancellation: Cancellation? = nil,
        progress: @escaping @Sendable (_ done: Int, _ total: Int) -> Void = { _, _ in },
        write: @escaping @Sendable (_ octets: [UInt8], _ total: Int) throws(KeychainError) -> Void
    ) throws(KeychainError) -> ExportReport {
        try export(.exportKeychain, prompt, cancellation: cancellation, progress: progress, write: write)
    }

    /// Delivers a backup in parts, after the authentication that the daemon's settings require.
    ///
    /// Only for the daemon's own command. The parameters and the result are those of
    /// ``exportKeychain(_:cancellation:progress:write:)``.
    /// - Throws: ``KeychainError``, and the errors of `write`.
    public func backUp(
        _ prompt: PromptFields,
        progress: @escaping @Sendable (_ done: Int, _ total: Int) -> Void = { _, _ in },
        write: @escaping @Sendable (_ octets: [UInt8], _ total: Int) throws(KeychainError) -> Void
    ) throws(KeychainError) -> ExportReport {
        try export(.backUp, prompt, cancellation: nil, progress: progress, write: write)
    }

    private func export(
        _ method: Method,
        _ prompt: PromptFields,
        cancellation: Cancellation?,
        progress: @escaping @Sendable (_ done: Int, _ total: Int) -> Void,
        write: @escaping @Sendable (_ octets: [UInt8], _ total: Int) throws(KeychainError) -> Void
    ) throws(KeychainError) -> ExportReport {
        try prompt.checkLimits()
        let sink = ExportSink(progress, write)
        try call(method, prompt, replies: sink, cancellation: cancellation)
        guard let report = sink.report else { throw .unintelligible(WireError.malformed) }
        return report
    }

    /// Sends the next part of an export to the daemon; offset 0 starts anew.
    ///
    /// - Throws: ``KeychainError`` with `errSecParam` if earlier parts are missing.
    public func sendImport(_ part: ImportPart) throws(KeychainError) {
        guard part.octets.count <= MigrationLimits.partOctets else { throw KeychainError(.dataTooLarge) }
        try call(.sendImport, part, replies: Acknowledgement())
    }

    /// Asks for the recovery code of the sent export and for a new passcode, and creates the keychain.
    ///
    /// `progress` is called on any thread, after the first second; the export is read twice.
    ///
    /// - Returns: the number of items.
    public func importKeychain(
        _ prompt: PromptFields,
        cancellation: Cancellation? = nil,
        progress: @escaping @Sendable (_ done: Int, _ total: Int) -> Void = { _, _ in }
    ) throws(KeychainError) -> Int {
        try prompt.checkLimits()
        return try call(
            .importKeychain,
            prompt,
            reply: CountBody.self,
            cancellation: cancellation,
            progress: progress
        ).count
    }

    /// Asks for the recovery code of the sent export, and reads it, or merges it into the keychain after asking for the
    /// keychain's passcode.
    ///
    /// Only for the daemon's own command. What a merge has stored stays if it ends with an error; repeated, it goes on.
    ///
    /// - Parameters:
    ///   - request: what to do.
    ///   - progress: the number of bytes read and of all; called on any thread, after the first second.
    ///   - item: gets each item; called on any thread.
    /// - Throws: ``KeychainError`` with `errSecAuthFailed` for a wrong code, `errSecDecode` for a damaged export.
    public func openExport(
        _ request: ExportRequest,
        progress: @escaping @Sendable (_ done: Int, _ total: Int) -> Void = { _, _ in },
        item: @escaping @Sendable (ExportedItem) -> Void
    ) throws(KeychainError) {
        try request.prompt.checkLimits()
        try call(.openExport, request, replies: ExportItemSink(progress, item))
    }
}

/// Receives the items of an export.
private final class ExportItemSink: ReplySink, @unchecked Sendable {  // the connection orders all access
    private let progress: @Sendable (Int, Int) -> Void
    private let item: @Sendable (ExportedItem) -> Void

    init(
        _ progress: @escaping @Sendable (Int, Int) -> Void,
        _ item: @escaping @Sendable (ExportedItem) -> Void
    ) {
        self.progress = progress
        self.item = item
    }

    func accept(_ message: consuming ReceivedMessage, bodyAt start: Int) throws {
        let part = try message.readBody(from: start) { try ExportItems(from: &$0) }
        if let step = part.progress { progress(step.done, step.total) }
        part.items.forEach(item)
    }
}

/// Receives the parts of an export.
private final class ExportSink: ReplySink, @unchecked Sendable {  // the connection orders all access
    private let progress: @Sendable (Int, Int) -> Void
    private let write: @Sendable ([UInt8], Int) throws(KeychainError) -> Void
    private var received = 0
    private(set) var report: ExportReport?

    init(
        _ progress: @escaping @Sendable (Int, Int) -> Void,
        _ write: @escaping @Sendable ([UInt8], Int) throws(KeychainError) -> Void
    ) {
        self.progress = progress
        self.write = write
    }

    func accept(_ message: consuming ReceivedMessage, bodyAt start: Int) throws {
        let part = try message.readBody(from: start) { try ExportPart(from: &$0) }
        if let step = part.progress { return progress(step.done, step.total) }
        guard report == nil, received + part.octets.count <= part.total else { throw WireError.malformed }
        received += part.octets.count
        if let report = part.report {
            guard received == part.total else { throw WireError.malformed }
            self.report = report
        } else {
            try write(part.octets, part.total)
        }
    }
}
