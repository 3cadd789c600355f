/// A shared library that the daemon needs and the dynamic loader did not find.
struct MissingLibrary {
    /// Its name, such as `libtss2-esys.so.0`.
    let name: String

    /// Reads the loader's message (ld.so(8)); nil for another text.
    ///
    /// - Parameter message: what the daemon wrote before it ended, one line.
    init?(in message: String) {
        let mark = "error while loading shared libraries: "
        guard let start = message.firstRange(of: mark)?.upperBound else { return nil }
        let name = message[start...].prefix {
            $0.isASCII && ($0.isLetter || $0.isNumber || "._+-".contains($0))
        }
        guard name.hasPrefix("lib"), message[name.endIndex...].hasPrefix(": cannot open") else { return nil }
        self.name = String(name)
    }

    /// The package that has it, if that is known.
    var package: PackageManager.Package? {
        if name.hasPrefix("libtss2-") { return .tpmLibraries }
        if name.hasPrefix("libsqlite3.") { return .sqlite }
        if name.hasPrefix("libsystemd.") { return .systemdLibrary }
        return name.hasPrefix("libcrypto.") ? .openSSL : nil
    }

    /// How to install it.
    var remedy: String {
        package.map { "install it: \(PackageManager.command(for: $0))" }
            ?? "install the package that has \(name), or Touchstone's package anew"
    }
}
