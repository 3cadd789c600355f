import Glibc
import KeychainModel
import MessageBus
import Testing

@testable import FingerprintDriver

@Suite("Errors of fprintd and D-Bus")
struct FingerprintErrorTests {
    @Test(
        "fprintd's error names lose their prefix; unknown names are kept whole",
        arguments: [
            ("net.reactivated.Fprint.Error.NoSuchDevice", FingerprintError.Code.noSuchDevice),
            ("net.reactivated.Fprint.Error.PermissionDenied", .permissionDenied),
            ("net.reactivated.Fprint.Error.FingerAlreadyEnrolled", .init(rawValue: "FingerAlreadyEnrolled")),
            ("org.freedesktop.DBus.Error.ServiceUnknown", .serviceUnknown),
            ("org.freedesktop.DBus.Error.NameHasNoOwner", .serviceUnknown),
            ("org.freedesktop.DBus.Error.Spawn.ExecFailed", .serviceUnknown),
            ("org.freedesktop.DBus.Error.NoReply", .noReply),
            ("org.freedesktop.DBus.Error.Timeout", .noReply),
            ("org.freedesktop.DBus.Error.AccessDenied", .permissionDenied),
            ("org.freedesktop.DBus.Error.UnknownObject", .noSuchDevice),
            ("org.example.Strange", .init(rawValue: "org.example.Strange")),
        ]
    )
    func names(name: String, code: FingerprintError.Code) {
        let error = FingerprintError(.remote(name: name, message: "text"))
        #expect(error.code == code)
        #expect(error.message == "\(name): text")
    }

    @Test("a missing bus and a missing reply are different errors")
    func system() {
        #expect(FingerprintError(.system(errno: ENOENT)).code == .noBus)
        #expect(FingerprintError(.system(errno: ECONNREFUSED)).code == .noBus)
        #expect(FingerprintError(.system(errno: ETIMEDOUT)).code == .noReply)
        #expect(FingerprintError(.malformed).code == .internal)
    }

    @Test("the system bus is at its fixed path, or there is none")
    func systemBus() {
        do throws(BusError) {
            #expect(try BusAddress.system.resolved() == "unix:path=/run/dbus/system_bus_socket")
        } catch {
            #expect(error == .system(errno: ENOENT) || error == .system(errno: EPERM))
        }
        #expect(BusAddress.system.ownerUserID == 0)
    }
}
