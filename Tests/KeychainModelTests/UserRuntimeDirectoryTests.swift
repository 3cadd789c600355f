import Glibc
import KeychainModel
import Testing
import TouchstoneTesting

@Suite("The user's runtime directory")
struct UserRuntimeDirectoryTests {
    private let directory: TemporaryDirectory
    private let user = geteuid()

    init() throws { directory = try TemporaryDirectory() }

    private var path: String { directory.path + "/\(user)" }

    private func layout(_ variables: [String: String]) -> Layout? {
        Layout(
            variable: { variables[$0] },
            userDirectory: { UserRuntimeDirectory.find(in: directory.path, user: user) }
        )
    }

    @Test(
        "it is used if XDG_RUNTIME_DIR is unset, empty or relative",
        arguments: [nil, "", "run/user/1"] as [String?]
    )
    func counts(variable: String?) {
        mkdir(path, 0o700)
        #expect(
            layout(["HOME": "/h", "XDG_RUNTIME_DIR": variable ?? ""])?.socket == path + "/touchstone/socket"
        )
    }

    @Test("it is not used if XDG_RUNTIME_DIR or TOUCHSTONE_HOME is set")
    func others() {
        mkdir(path, 0o700)
        #expect(layout(["HOME": "/h", "XDG_RUNTIME_DIR": "/r"])?.runtimeDirectory == "/r/touchstone")
        #expect(layout(["TOUCHSTONE_HOME": "/t"])?.runtimeDirectory == "/t/run")
    }

    @Test(
        "it is not used if missing, a file, a link or open to others; the socket is then beside the store"
    )
    func faults() throws {
        let beside = "/h/.local/share/touchstone/run"
        func check(_ fault: UserRuntimeDirectory.Fault) {
            #expect(throws: fault) { try UserRuntimeDirectory.check(path, user: user) }
            #expect(layout(["HOME": "/h"])?.runtimeDirectory == beside)
        }
        check(.missing(errno: ENOENT))
        for mode: UInt32 in [0o755, 0o770, 0o1777 & 0o777] {
            mkdir(path, 0o700)
            chmod(path, mode)
            check(.open(mode: mode))
            rmdir(path)
        }
        _ = try directory.write("", to: "\(user)")
        check(.notADirectory)
        unlink(path)
        mkdir(directory.path + "/elsewhere", 0o700)
        symlink(directory.path + "/elsewhere", path)
        check(.notADirectory)
        unlink(path)
        mkdir(path, 0o700)
        #expect(layout(["HOME": "/h"])?.runtimeDirectory == path + "/touchstone")
    }

    @Test(
        "it is not used if it is another user's",
        .enabled(if: geteuid() == 0, "needs root to give it away")
    )
    func foreign() {
        mkdir(path, 0o700)
        chown(path, 65534, 65534)
        #expect(throws: UserRuntimeDirectory.Fault.foreign(owner: 65534)) {
            try UserRuntimeDirectory.check(path, user: user)
        }
        #expect(layout(["HOME": "/h"])?.runtimeDirectory == "/h/.local/share/touchstone/run")
    }

    @Test("XDG_RUNTIME_DIR is refused if it is another user's, and accepted if it is root's")
    func refused() throws {
        let own = try #require(layout(["HOME": "/h", "XDG_RUNTIME_DIR": directory.path]))
        #expect(own.runtimeFault() == nil)
        #expect(
            own.runtimeFault(user: user + 1)
                == (user == 0 ? nil : "\(directory.path) belongs to user \(user)")
        )
        if user == 0 {
            chown(directory.path, 65534, 65534)
            #expect(own.runtimeFault() == "\(directory.path) belongs to user 65534")
            #expect(own.runtimeFault(user: 65534) == nil)
            #expect(own.runtimeFault(user: 65533) == "\(directory.path) belongs to user 65534")
        }
        let shared = try #require(layout(["HOME": "/h", "XDG_RUNTIME_DIR": "/tmp"]))
        #expect(shared.runtimeFault() == nil)
        // Beside the store only the store's own checks apply.
        let fallback = try #require(layout(["HOME": directory.path]))
        #expect(fallback.runtimeFault() == nil)
    }

    @Test("XDG_RUNTIME_DIR is refused if it is missing and cannot be created")
    func missing() throws {
        let there = try #require(layout(["HOME": "/h", "XDG_RUNTIME_DIR": directory.path + "/new"]))
        #expect(there.runtimeFault() == nil)
        let nowhere = try #require(layout(["HOME": "/h", "XDG_RUNTIME_DIR": "/proc/none/1000"]))
        #expect(nowhere.runtimeFault() == "/proc/none/1000: No such file or directory")
    }
}
