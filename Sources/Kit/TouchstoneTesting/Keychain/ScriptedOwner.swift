import Foundation
import Glibc

/// The keychain's owner, behind a pinentry program: knows the passcode, keeps the recovery code, follows its deeds.
extension ScriptedPinentry {
    /// What the owner does at one box.
    package enum Deed: Sendable, Equatable {
        /// Types what the box asks for.
        case usual
        /// Types this text instead of the passcode.
        case types(String)
        /// Presses cancel.
        case cancels
        /// Presses the button between the affirmative one and cancel.
        case next
        /// Leaves the box alone until it disappears, as for a finger.
        case waits
        /// Kills the daemon, with the box still open.
        case killsDaemon

        fileprivate var line: String {
            switch self {
            case .usual: "usual"
            case .types(let text): "type \(text)"
            case .cancels: "cancel"
            case .next: "next"
            case .waits: "wait"
            case .killsDaemon: "kill"
            }
        }
    }

    /// An owner who types `passcode` and keeps notes in the directory `home`.
    package static func owner(passcode: String, home: String) throws -> ScriptedPinentry {
        // The note comes last: who waits for it may have the program killed, and the deed must be taken then.
        let deed = """
            deed=
            if [ -s \(home)/deeds ]; then
                deed=$(head -n 1 \(home)/deeds)
                tail -n +2 \(home)/deeds > \(home)/deeds.rest
                mv \(home)/deeds.rest \(home)/deeds
            fi
            echo "$line" >> "$directory/notes"
            """
        return try ScriptedPinentry([
            "SETDESC": """
            code=$(printf '%s' "$line" | grep -oE '[0-9A-Z]{4}(-[0-9A-Z]{4}){6}')
            case "$line" in *lockout*) file=\(home)/lockout-code ;; *) file=\(home)/code ;; esac
            if [ -n "$code" ]; then printf '%s' "$code" > $file; fi
            echo OK
            """,
            "SETPROMPT": "prompt=$line; echo OK",
            "SETREPEAT": "repeated=1; echo OK",
            "CONFIRM": """
            \(deed)
            case "$deed" in
            cancel) echo 'ERR 83886179 Operation cancelled <Pinentry>' ;;
            next) echo 'ERR 83886194 Not confirmed <Pinentry>' ;;
            wait) exec sleep 600 ;;
            *) echo OK ;;
            esac
            """,
            "GETPIN": """
            \(deed)
            case "$deed" in
            cancel) echo 'ERR 83886179 Operation cancelled <Pinentry>' ;;
            wait) exec sleep 600 ;;
            kill) kill -KILL $PPID ;;
            *)
                case "$deed$prompt" in
                type*) typed=${deed#type } ;;
                *Recovery*) typed=$(cat \(home)/code) ;;
                *Code:*) typed=$(cat \(home)/lockout-code) ;;
                *Words:*) typed='start over' ;;
                *) typed='\(passcode)' ;;
                esac
                printf 'D %s\\n' "$typed"
                if [ -n "$repeated" ]; then echo 'S PIN_REPEATED'; fi
                echo OK ;;
            esac
            """,
        ])
    }

    /// Queues deeds for the next boxes of the owner with notes in `home`; after them the owner types the passcode again.
    ///
    /// Root makes the list for the directory's owner, who runs the program.
    package static func tell(_ deeds: [Deed], home: String) throws {
        let lines = deeds.map { $0.line + "\n" }.joined()
        let next = "\(home)/deeds-\(UUID().uuidString)"
        try lines.write(toFile: next, atomically: false, encoding: .utf8)
        var place = stat()
        guard unsafe stat(home, &place) == 0 else { throw TestKitError.system("stat", errno: errno) }
        if geteuid() == 0 { _ = unsafe chown(next, place.st_uid, place.st_gid) }
        guard unsafe rename(next, home + "/deeds") == 0 else {
            throw TestKitError.system("rename", errno: errno)
        }
    }
}
