import KeychainModel

/// The environment that a daemon is started with: enough to find the same layout, and nothing else.
enum DaemonEnvironment {
    /// The search path for programs that the daemon runs; the app's own `PATH` is ignored.
    static let path = "/usr/local/bin:/usr/bin:/bin"

    /// The variables with which a daemon finds `layout`; nil if no variables describe it.
    static func variables(for layout: Layout) -> [String: String]? {
        var variables: [String: String] = [:]
        if let home = parent(of: layout.runtimeDirectory, named: "run"),
            layout.dataDirectory == home + "/data",
            layout.configurationFile == home + "/touchstoned.conf"
        {
            variables["TOUCHSTONE_HOME"] = home
        } else {
            variables["XDG_DATA_HOME"] = parent(of: layout.dataDirectory, named: "touchstone")
            variables["XDG_CONFIG_HOME"] = parent(
                of: layout.configurationFile,
                named: "touchstone/touchstoned.conf"
            )
            variables["XDG_RUNTIME_DIR"] = parent(of: layout.runtimeDirectory, named: "touchstone")
        }
        // Without a runtime directory, client and daemon both look for `/run/user/UID` and find the same one.
        let isFallback = layout.runtimeDirectory == layout.fallbackRuntimeDirectory
        let found = Layout(
            variable: { variables[$0] },
            userDirectory: { isFallback ? nil : UserRuntimeDirectory.find() }
        )
        guard found == layout else { return nil }
        variables["HOME"] = ProcessEnvironment.variable("HOME")
        variables["PATH"] = path
        return variables
    }

    private static func parent(of path: String, named name: String) -> String? {
        path.hasSuffix("/" + name) ? String(path.dropLast(name.utf8.count + 1)) : nil
    }
}
