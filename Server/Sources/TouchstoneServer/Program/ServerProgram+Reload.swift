internal import Foundation
internal import Logging

extension ServerProgram {
    /// Puts other settings in force, and reads certificates, secrets and lists again, also from files that have their old
    /// names; the log says what is different.
    ///
    /// Connections that begin afterwards get the new certificate. If anything is wrong, the log says what, and all former
    /// settings stay in force.
    ///
    /// - Parameter read: reads the settings.
    public func reload(_ read: () throws(ConfigurationFault) -> ServerConfiguration) {
        let former = current.value
        let logger = former.logger
        do {
            let wanted = try read()
            let settings = try wanted.keepingFixed(of: former.configuration)
            // Nothing is put in force before all of it was read.
            let files = try TLSFiles(settings)
            let service = try Service(settings, replacing: former)
            if let files, let tlsFiles {
                let serving = tlsFiles.value.leaf
                tlsFiles.replace(with: files)
                if files.leaf != serving { logger.notice("reloaded: certificate with \(files.summary)") }
                if let complaint = files.complaint(at: Date()) { logger.error("\(complaint)") }
            }
            current.replace(with: service)
            for change in service.changes(from: former) { logger.notice("reloaded: \(change)") }
            for key in wanted.fixedDifferences(from: settings) {
                logger.warning(
                    "\(key) changes only at the next start: it stays \(settings.text(of: key) ?? "not set")"
                )
            }
            logger.notice("reloaded the configuration")
        } catch {
            logger.error("not reloaded, the former configuration stays in force: \(error)")
        }
    }
}

extension ServerConfiguration {
    /// The settings that differ from those in force because only a start changes them.
    fileprivate func fixedDifferences(from running: ServerConfiguration) -> [String] {
        let tls = ["tls-certificate", "tls-key"]
        return Self.keys.filter { Self.fixedKeys.contains($0) || tls.contains($0) }
            .filter { key in
                // The address with its password, which the text hides.
                key == "database"
                    ? databaseAddress != running.databaseAddress : text(of: key) != running.text(of: key)
            }
    }
}

extension Service {
    /// What is different from a former service, in words for the log, without secrets.
    fileprivate func changes(from former: Service) -> [String] {
        let old = former.configuration
        var changes = ServerConfiguration.keys.compactMap { key -> String? in
            let (now, before) = (configuration.text(of: key), old.text(of: key))
            return now == before ? nil : "\(key) is \(now ?? "not set"), was \(before ?? "not set")"
        }
        changes += serviceSecrets.changes(from: former.serviceSecrets).map { "service \($0)" }
        changes += audiences.changes(from: former.audiences).map { "audience \($0)" }
        if endorsement != former.endorsement {
            changes.append("the content of endorsement-roots, endorsement-list or endorsement-revoked")
        }
        if bootState != former.bootState { changes.append("the content of boot-states") }
        if attestationRoots != former.attestationRoots { changes.append("the content of attestation-roots") }
        return changes
    }
}
