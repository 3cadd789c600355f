import Glibc

/// The installed package manager, for hints.
enum PackageManager {
    /// A package whose name differs between distributions; the raw value is the usual name.
    enum Package: String {
        case pinentry
        case fprintd
        case clipboardOfWayland = "wl-clipboard"
        case clipboardOfX = "xclip"
        case nano
        case zbar = "zbar-tools"
    }

    private static let programs = [
        ("/usr/bin/apt-get", "sudo apt install"), ("/usr/bin/dnf", "sudo dnf install"),
        ("/usr/bin/zypper", "sudo zypper install"), ("/usr/bin/pacman", "sudo pacman -S"),
        ("/sbin/apk", "sudo apk add"), ("/usr/bin/emerge", "sudo emerge"),
        ("/usr/bin/xbps-install", "sudo xbps-install"),
    ]

    /// The command that installs a package; only the package's name if no known manager is found.
    static func command(for package: Package, isThere: (String) -> Bool = isProgram) -> String {
        guard let (program, command) = programs.first(where: { isThere($0.0) }) else {
            return "the package \(package.rawValue)"
        }
        // Debian has a package for each kind of pinentry, but none with that name.
        let isDebian = program == "/usr/bin/apt-get"
        return "\(command) \(package == .pinentry && isDebian ? "pinentry-curses" : package.rawValue)"
    }

    private static func isProgram(_ path: String) -> Bool { unsafe access(path, X_OK) == 0 }
}
