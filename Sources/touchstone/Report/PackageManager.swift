import Glibc

/// The package manager that is there, for hints.
enum PackageManager {
    private static let programs = [
        ("/usr/bin/apt-get", "apt install"), ("/usr/bin/dnf", "dnf install"),
        ("/usr/bin/zypper", "zypper install"), ("/usr/bin/pacman", "pacman -S"),
        ("/sbin/apk", "apk add"), ("/usr/bin/emerge", "emerge"), ("/usr/bin/xbps-install", "xbps-install"),
    ]

    /// The command that installs a package of this name, which all of them give it.
    static func command(toInstall package: String) -> String {
        let program = programs.first { unsafe access($0.0, X_OK) == 0 }
        return program.map { "\($0.1) \(package)" } ?? "the package is \(package)"
    }
}
