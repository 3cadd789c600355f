import Desk
import KeychainModel

/// The files that grant programs shared access groups: the administrator's for all users, then the user's; in system
/// mode only the administrator's.
enum AccessGroupFiles {
    /// The user's file, beside the settings.
    static let name = "access-groups.conf"
    /// The maximum number of the administrator's files.
    static let mostFiles = 64

    /// Reads all files, the administrator's in `directory`; missing files grant nothing.
    static func read(
        _ layout: Layout,
        _ mode: DaemonMode,
        _ directory: String
    ) throws(StartError) -> AccessGroupManifest {
        let names = try TrustedFile.ofAdministrator(directory).names(endingIn: ".conf", atMost: mostFiles)
        var files = names.map { TrustedFile.ofAdministrator(directory + "/" + $0) }
        if mode == .perUser, let slash = layout.configurationFile.lastIndex(of: "/") {
            files.append(.ofUser(layout.configurationFile[...slash] + name))
        }
        var manifest = AccessGroupManifest()
        for file in files {
            guard let text = try file.text() else { continue }
            do throws(AccessGroupManifest.Fault) {
                try manifest.add(text)
            } catch {
                throw StartError(
                    "\(file.path), line \(error.line): \(error.reason)",
                    hint: "see touchstoned(8) for access groups"
                )
            }
        }
        return manifest
    }
}
