import Foundation
import KeychainModel
import ScriptedDaemon
import Testing

@testable import KeychainClient

/// The cells: Flatpak with and without a name, snap, an AppArmor profile that enforces, one that complains, none; a daemon that is
/// absent, a refusal by permission, and errors that no sandbox causes.
@Suite("Naming the sandbox of a program that cannot reach the daemon")
struct SandboxTests {
    private let root: TemporaryHome

    init() throws { root = try TemporaryHome() }

    private func named(_ cause: KnownCause, detail: String? = nil) -> DriverCause? {
        Sandbox.naming(.notAvailable(cause, detail: detail), root: root.path).cause
    }

    private func expect(_ sandbox: String, _ cause: KnownCause, detail: String? = nil) {
        let told = named(cause, detail: detail)
        #expect(told?.known == .sandboxed)
        let failed = DriverCause(cause, detail: detail)
        #expect(told?.detail == "\(sandbox); \(failed.domain): \(failed.code)")
    }

    private func write(_ text: String, to path: String) throws {
        let directory = "\(root.path)/proc/self/attr/apparmor"
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        try text.write(toFile: "\(root.path)/\(path)", atomically: false, encoding: .utf8)
    }

    @Test("without a mark of a sandbox the error stays as it is")
    func none() {
        #expect(named(.daemonMissing)?.known == .daemonMissing)
        #expect(named(.connectFailed, detail: "EACCES")?.known == .connectFailed)
    }

    @Test("Flatpak's file names the application, and hostile text is cut")
    func flatpak() throws {
        try write("[Context]\nname=no\n[Application]\nname=org.example.Notes\n", to: ".flatpak-info")
        for cause in [KnownCause.daemonMissing, .daemonNotRunning, .daemonNotStarted, .systemSocketMissing] {
            expect("Flatpak org.example.Notes", cause)
        }
        let failed = KeychainError.notAvailable(DriverCause(domain: "touchstoned", code: "exit 1"))
        #expect(Sandbox.naming(failed, root: root.path).cause?.known == .sandboxed)
        try write("[Application]\nname=\u{1B}[2Ja b\n[x]\n", to: ".flatpak-info")
        expect("Flatpak 2Jab", .daemonMissing)
        for text in ["", "[Application]\n[x]\nname=other\n", "name=x\n"] {
            try write(text, to: ".flatpak-info")
            expect("Flatpak", .daemonMissing)
        }
    }

    @Test("snap is named by its profile, and an AppArmor profile only where it refused something")
    func appArmor() throws {
        try write("snap.notes.notes (enforce)\n", to: "proc/self/attr/current")
        expect("snap notes.notes", .daemonMissing)
        try write("docker-default (enforce)\n", to: "proc/self/attr/current")
        #expect(named(.daemonMissing)?.known == .daemonMissing)
        expect("AppArmor profile docker-default", .connectFailed, detail: "EACCES")
        for text in ["unconfined\n", "notes (complain)\n", ""] {
            try write(text, to: "proc/self/attr/current")
            #expect(named(.connectFailed, detail: "EACCES")?.known == .connectFailed)
        }
        // The file of newer kernels comes first.
        try write("/usr/bin/notes (enforce)\n", to: "proc/self/attr/apparmor/current")
        expect("AppArmor profile /usr/bin/notes", .connectFailed, detail: "EPERM")
    }

    @Test("an error that no sandbox causes stays as it is")
    func others() throws {
        try write("[Application]\nname=org.example.Notes\n", to: ".flatpak-info")
        for cause in [
            KnownCause.foreignDaemon, .daemonUnsafe, .daemonRefused, .tooManyConnections,
            .outsideTestKeychain,
        ] {
            #expect(named(cause)?.known == cause)
        }
        let plain = KeychainError(.notAvailable)
        #expect(Sandbox.naming(plain, root: root.path).cause == nil)
    }
}
