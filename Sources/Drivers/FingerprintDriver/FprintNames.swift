/// fprintd's names on the bus (`net.reactivated.Fprint.*.xml` of fprintd 1.94).
package enum Fprint {
    /// The bus name.
    package static let busName = "net.reactivated.Fprint"
    /// The path of the manager object.
    package static let managerPath = "/net/reactivated/Fprint/Manager"
    /// The interface of the manager.
    package static let managerInterface = "net.reactivated.Fprint.Manager"
    /// The common prefix of all object paths of fprintd.
    package static let rootPath = "/net/reactivated/Fprint"
    /// The interface of a sensor.
    package static let deviceInterface = "net.reactivated.Fprint.Device"
    /// The common prefix of fprintd's error names.
    package static let errorPrefix = "net.reactivated.Fprint.Error."
    /// Any finger, for `VerifyStart`.
    package static let anyFinger = "any"
}

/// logind's names on the bus (`org.freedesktop.login1(5)`).
package enum Login1 {
    /// The bus name.
    package static let busName = "org.freedesktop.login1"
    /// The path of the manager object.
    package static let path = "/org/freedesktop/login1"
    /// The interface of the manager.
    package static let managerInterface = "org.freedesktop.login1.Manager"
    /// The interface of a login session.
    package static let sessionInterface = "org.freedesktop.login1.Session"
    /// The common prefix of the object paths of sessions.
    package static let sessionPath = "/org/freedesktop/login1/session/"
}

/// The interface of properties, `org.freedesktop.DBus.Properties`.
package let propertiesInterface = "org.freedesktop.DBus.Properties"
