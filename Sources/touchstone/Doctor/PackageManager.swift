import Glibc

/// The command that installs what is missing, by the package manager that is there.
enum PackageManager: CaseIterable {
    case apt, dnf, pacman, zypper, apk

    /// What may be missing.
    enum Package {
        case pinentry, fprintd
    }

    /// How a package is installed here; its name alone where no known manager is found.
    static func command(for package: Package, isThere: (String) -> Bool = isProgram) -> String {
        guard let manager = allCases.first(where: { isThere($0.program) }) else {
            return "the package \(package == .pinentry ? "pinentry" : "fprintd")"
        }
        return "sudo \(manager.verb) \(manager.name(of: package))"
    }

    private var program: String {
        switch self {
        case .apt: "/usr/bin/apt"
        case .dnf: "/usr/bin/dnf"
        case .pacman: "/usr/bin/pacman"
        case .zypper: "/usr/bin/zypper"
        case .apk: "/sbin/apk"
        }
    }

    private var verb: String {
        switch self {
        case .apt: "apt install"
        case .dnf: "dnf install"
        case .pacman: "pacman -S"
        case .zypper: "zypper install"
        case .apk: "apk add"
        }
    }

    private func name(of package: Package) -> String {
        switch package {
        case .fprintd: "fprintd"
        case .pinentry: self == .apt ? "pinentry-curses" : "pinentry"
        }
    }

    private static func isProgram(_ path: String) -> Bool { unsafe access(path, X_OK) == 0 }
}
