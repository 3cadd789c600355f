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
        case tpmLibraries = "tpm2-tss"
        case sqlite
        case systemdLibrary = "libsystemd"
        case openSSL = "openssl"

        /// The names that differ from the usual one, by the manager's program.
        fileprivate var otherNames: [String: String] {
            let (apt, dnf, zypper) = ("/usr/bin/apt-get", "/usr/bin/dnf", "/usr/bin/zypper")
            return switch self {
            // Debian has a package for each kind of pinentry, but none with that name.
            case .pinentry: [apt: "pinentry-curses"]
            // The libraries' packages are named by their versions, which differ between releases; this one needs them all.
            case .tpmLibraries: [apt: "libtss2-dev", zypper: "tpm2-0-tss-devel"]
            case .sqlite: [apt: "libsqlite3-0", dnf: "sqlite-libs", zypper: "libsqlite3-0"]
            case .systemdLibrary:
                [
                    apt: "libsystemd0", dnf: "systemd-libs", zypper: "libsystemd0",
                    "/usr/bin/pacman": "systemd-libs",
                ]
            case .openSSL: [apt: "libssl3", dnf: "openssl-libs", zypper: "libopenssl3"]
            case .fprintd, .clipboardOfWayland, .clipboardOfX, .nano, .zbar: [:]
            }
        }
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
        return "\(command) \(package.otherNames[program] ?? package.rawValue)"
    }

    private static func isProgram(_ path: String) -> Bool { unsafe access(path, X_OK) == 0 }
}
