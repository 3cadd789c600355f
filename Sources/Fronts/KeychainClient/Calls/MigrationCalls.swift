import CBOR
public import KeychainModel

/// Moving a keychain: out as a sealed export, in on another machine.
extension RemoteKeychain {
    /// Asks for the recovery code and hands over an export, part after part.
    ///
    /// - Parameters:
    ///   - prompt: how to prompt.
    ///   - cancellation: ends it from another thread.
    ///   - progress: how many items of how many are sealed, before the first bytes; called on any thread, from the
    ///     second second on.
    ///   - write: takes the next bytes, and how many there are in all; called on any thread. What it throws ends
    ///     the export.
    /// - Returns: what is in the export, and what is not. Without it the bytes are no whole export.
    /// - Throws: ``KeychainError`` with `errSecAuthFailed` for a wrong code, and what `write` throws.
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

    /// Hands the daemon the next part of an export; offset 0 starts anew.
    ///
    /// - Throws: ``KeychainError`` with `errSecDuplicateItem` when there is a keychain already, `errSecParam` when the
    ///   parts before are not there.
    public func sendImport(_ part: ImportPart) throws(KeychainError) {
        guard part.octets.count <= MigrationLimits.partOctets else { throw KeychainError(.dataTooLarge) }
        try call(.sendImport, part, replies: Acknowledgement())
    }

    /// Asks for the recovery code of what was sent, and for a new passcode, and makes the keychain.
    ///
    /// `progress` is called on any thread, from the second second on; the export is read twice.
    ///
    /// - Returns: how many items it has.
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

/// Takes the parts of an export as they come.
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
