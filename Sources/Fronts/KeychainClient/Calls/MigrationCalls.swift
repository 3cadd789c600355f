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
        try prompt.checkLimits()
        let sink = ExportSink(progress, write)
        try call(.exportKeychain, prompt, replies: sink, cancellation: cancellation)
        guard let report = sink.report else { throw .unintelligible(WireError.malformed) }
        return report
    }

    /// Sends the next part of an export to the daemon; offset 0 starts anew.
    ///
    /// - Throws: ``KeychainError`` with `errSecDuplicateItem` if there is already a keychain, `errSecParam` if earlier
    ///   parts are missing.
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
