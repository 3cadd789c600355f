@testable import DaemonConfiguration

/// The daemon's settings file.
enum ConfigurationTarget: FuzzTarget {
    static let name = "configuration"

    static func run(_ input: Span<UInt8>) {
        // The file's reader rejects invalid UTF-8 first.
        guard let text = String(validating: input.array, as: UTF8.self) else { return }
        do throws(Setting.Fault) {
            let lines = try Setting.all(in: text)
            let settings = try Configuration(lines)
            if let path = settings.pinentryProgram { require(path.hasPrefix("/"), "a path is absolute") }
            require(!lines.contains { $0.key.hasPrefix("test.") }, "no setting of tests")
        } catch {
            require(error.line >= 1 && !error.reason.isEmpty, "a fault says where and why")
        }
    }

    static func seeds() -> [[UInt8]] {
        let values = [
            "idle-exit": [
                "0", "300", "604800", "604801", "-1", "0x10", "99999999999999999999", "", "\u{0663}",
            ],
            "pinentry-program": ["/usr/bin/pinentry", "pinentry", "", "/a b", "/x#y"],
            "log-level": ["trace", "debug", "info", "notice", "warning", "error", "critical", "loud"],
            "biometry": ["on", "off", "maybe"],
            "lock-on": [
                "never", "screen", "sleep, idle 15 min", "screen,idle 168 h", "idle 0 s", "never, screen",
                ",",
            ],
            "backup-require": ["either", "passcode", "none", "nobody"],
            "trust": ["terminal", "session", "Session", "all", ""],
            "test.system-bus-address": ["unix:path=/tmp/bus", ""],
            "test.bus-owner-uid": ["0", "4294967294", "4294967295"],
            "test.scrypt-log2-rounds": ["1", "22", "23"],
            "test.pinentry-program": ["/x", "x"],
            "test.template-directory": ["/var/lib/fprint", "."],
            "unknown": ["1"],
        ]
        var texts = values.sorted { $0.key < $1.key }.flatMap { key, values in
            values.map { "\(key) = \($0)\n" }
        }
        texts += [
            "", "\n", "# comment\n", "no equals sign", "=", " = ", "biometry=on # yes",
            "biometry=on\nbiometry=off\n",
            "\tidle-exit\t=\t60\t\r\n", "idle-exit = 60\r\nbiometry = off\r\n", "idle-exit = 6=0",
            "\u{feff}biometry = on",
            "biometry = on\u{2028}idle-exit = 1", "biometry = on\u{0301}", "#\u{0301} = x",
            "idle-exit = 60\npinentry-program = /usr/bin/pinentry-curses\nlog-level = debug\nbiometry = off\n",
        ]
        return texts.map { Array($0.utf8) } + [[0xFF], [0x62, 0, 0x3D]]
    }
}
