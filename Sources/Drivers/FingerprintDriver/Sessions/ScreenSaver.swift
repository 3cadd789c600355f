/// The screen savers of desktops, each with a name on the session bus and an interface of the same name.
///
/// `org.freedesktop.ScreenSaver` is KDE's and light-locker's (the Screensaver Idle Inhibition Specification's namespace), the
/// others are those of their desktops. `ActiveChanged(true)` says that the screen was blanked, and is locked or about to be.
package enum ScreenSaver: String, Sendable, CaseIterable {
    case freedesktop = "org.freedesktop.ScreenSaver"
    case gnome = "org.gnome.ScreenSaver"
    case cinnamon = "org.cinnamon.ScreenSaver"
    case mate = "org.mate.ScreenSaver"
    case xfce = "org.xfce.ScreenSaver"

    /// The paths of its object.
    package var paths: [String] {
        let path = "/" + rawValue.replacing(".", with: "/")
        // KDE had the short one first, and has both since.
        return self == .freedesktop ? [path, "/ScreenSaver"] : [path]
    }

    /// The signal, with a boolean.
    static let signal = "ActiveChanged"

    /// The addresses of a session bus that are local sockets; nil if there is none.
    ///
    /// Others (`unixexec:`, `tcp:`) would start a program or leave the machine.
    ///
    /// - Parameter addresses: `DBUS_SESSION_BUS_ADDRESS`: addresses between semicolons.
    /// - Returns: those that are left.
    package static func localBus(_ addresses: String) -> String? {
        let local = addresses.split(separator: ";").filter { $0.hasPrefix("unix:") }
        return local.isEmpty ? nil : local.joined(separator: ";")
    }
}
