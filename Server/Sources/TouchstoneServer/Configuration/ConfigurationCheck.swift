internal import AccountStore
internal import Foundation

extension ServerConfiguration {
    /// Reads all files that the settings name, and opens the database, without creating any.
    ///
    /// - Returns: every setting in effect with its source, as lines of a configuration file; passwords and secrets are only
    ///   `set`.
    /// - Throws: ``ConfigurationFault``; ``StartError`` for a database that cannot be used.
    public func check() async throws -> String {
        _ = try EndorsementPolicy(self)
        _ = try BootStatePolicy(self)
        _ = try attestationRoots.map(CertificateFolder.read)
        let services = try ServiceSecrets(self)
        let audiences = try Audiences(self)
        _ = try MailHook(self)
        if let complaint = try TLSFiles(self)?.complaint(at: Date()) { throw complaint }
        if let auditHeadFile { try AuditHeadFile(path: auditHeadFile).check() }
        let database = try await StoreOpener.check(self)
        let width = Self.keys.map(\.count).max() ?? 0
        let lines = Self.keys.map { key in
            let name = key.padding(toLength: width, withPad: " ", startingAt: 0)
            guard let text = text(of: key) else { return "# \(name) is not set" }
            return "\(name) = \(text)  # \(source(of: key))"
        }
        let secrets = services.summary.map { "# service \($0): set" }
        let resources = audiences.summary.map { "# audience \($0)" }
        return (lines + secrets + resources + ["# database: \(database)"]).joined(separator: "\n")
    }

    /// Where a setting is from.
    private func source(of key: String) -> String {
        switch places[key] {
        case .file(let place)?: "file \(place)"
        case .variable(let name)?: "environment \(name)"
        case nil: "default"
        }
    }
}
