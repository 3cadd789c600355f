import Foundation
import Glibc
import KeychainModel
import ScriptedDaemon
import Testing
import TouchstoneTesting

/// The first column of `docs/COMPARISON.md`, run as it is written, in its order, by one person on one keychain.
@Suite(
    "The week of the comparison",
    .enabled(if: RealKeychain.isPossible, "touchstone and touchstoned are not both built")
)
struct WeekTests {
    /// What is typed and seen with a command.
    private struct Step {
        var answers: [(question: String, text: String)] = []
        var shown = ""
    }

    private static func typed(_ name: String, _ text: String) -> Step {
        Step(answers: [("Secret for '\(name)':", text), ("The same again:", text)])
    }

    /// The commands of each task.
    private static let steps: [String: [Step]] = [
        "set up": [Step(shown: "The keychain is ready.")],
        "a password, typed": [typed("mail", "m4il pass")],
        "from a program, a file, of several lines": [Step(), Step()],
        "a random one": [Step(shown: "Stored 'bank': 6 words")],
        "user and address beside it": [typed("shop", "sh0p")],
        "read one": [Step(shown: "m4il pass")],
        clipboard: [Step(shown: "Copied to the clipboard; it is cleared in 45 s.")],
        "read one field": [Step(shown: "me@example.org")],
        "one-time codes": [
            Step(
                answers: [("Key or otpauth:// address for 'shop':", "JBSW Y3DP EHPK 3PXP")],
                shown: "Changed 'shop'."
            ),
            Step(shown: "valid for"),
        ],
        "to a program, in variables or a file": [Step(shown: "5 characters"), Step()],
        "list, as a tree": [Step(shown: "token")],
        "find by a part of the name": [Step(shown: "shop")],
        "find by a field": [Step(shown: "shop")],
        "rename, also a folder": [Step(), Step(shown: "Renamed 1 secret.")],
        "copy, delete": [Step(), Step()],
        "edit in an editor": [Step(shown: "Changed 'sites/shop'.")],
        "see former values": [Step(shown: "The last 10 values"), Step(shown: "The last 10 values")],
        "take a change back": [
            Step(shown: "Deleted; touchstone undo"), Step(shown: "'notes' is there again"),
        ],
        "a gesture for one secret": [Step()],
        "lock, also by time, and unlock": [Step(), Step(), Step()],
        "change the passcode": [Step(shown: "The passcode is changed.")],
        "back up and verify": [
            Step(shown: "secrets.backup holds 5 items, sealed under the recovery code."),
            Step(shown: "secrets.backup is whole. Items: 5"),
        ],
        elsewhere: [
            Step(shown: "The keychain is ready, with 5 items."),
            Step(shown: "Items: 5. Stored: 1. The same already: 4. Kept: 0."),
        ],
        "passwords for git": [Step(), Step(shown: "password=g1t")],
        "who used what": [Step(shown: "authenticationSucceeded"), Step(shown: "STARTED BY")],
    ]

    private static let clipboard = "to the clipboard, which clears itself"
    private static let elsewhere = "bring back elsewhere, or merge"

    /// Values, which are on the screen only where the command is asked for them.
    private static let values = ["m4il", "t0ken", "sh0p", "n3w", "JBSW", "g1t"]

    /// What is on the screen because the command was asked for it.
    private static let shownValues = ["read one": "m4il", "passwords for git": "g1t"]

    @Test("the page has 25 tasks, a cell of each tool for each of them")
    func page() throws {
        let page = try ComparisonPage()
        #expect(page.tools == ["touchstone", "pass", "gopass", "keepassxc-cli", "secret-tool", "op"])
        #expect(page.tasks.count == 25)
        #expect(Set(page.tasks.map(\.name)) == Set(Self.steps.keys))
        for task in page.tasks {
            #expect(task.cells.count == page.tools.count, "\(task.name)")
            #expect(task.cells.allSatisfy { !$0.isEmpty }, "\(task.name)")
            #expect(task.commands.count == Self.steps[task.name]?.count ?? 0, "\(task.name)")
        }
    }

    @Test("each command of the first column does its task, one after the other", .timeLimit(.minutes(5)))
    func week() async throws {
        var week = try await FirstWeek(hasReader: true)
        let desktop =
            ClipboardTests.isPossible ? try await ClipboardTests.Running(.xclip, week.keychain.home) : nil
        week.environment = ["EDITOR": "sed -i s/sh0p/n3w/"]
        try week.write("one\ntwo\n", to: "notes.txt")
        try week.write(
            "token = {{ touchstone://token }}\nuser = touchstone://shop?field=user\n",
            to: "app.tpl"
        )
        var other: FirstWeek?
        for task in try ComparisonPage().tasks {
            var place = week
            switch task.name {
            case Self.clipboard:
                guard let desktop else { continue }
                place.environment.merge(desktop.environment) { $1 }
            case Self.elsewhere:
                place = try await week.otherMachine("secrets.backup")
                other = place
            default: break
            }
            for (number, (command, step)) in zip(task.commands, Self.steps[task.name] ?? []).enumerated() {
                let screen = try await place.type(command, answers: step.answers, shown: step.shown)
                for value in Self.values where value != Self.shownValues[task.name] {
                    #expect(!screen.contains(value), "\(command): \(screen)")
                }
                try await Self.check(task.name, number, place, screen)
            }
            if let desktop, task.name == Self.clipboard {
                #expect(try await desktop.held() == "m4il pass")
            }
        }
        withExtendedLifetime((desktop, other)) {}
    }

    /// Looks at what a task's command of this number left.
    private static func check(_ task: String, _ number: Int, _ week: FirstWeek, _ screen: String) async throws
    {
        switch (task, number) {
        case ("a password, typed", 0): #expect(try await week.value("mail") == "m4il pass")
        case ("from a program, a file, of several lines", 0):
            #expect(try await week.value("token") == "t0ken")
        case ("from a program, a file, of several lines", 1):
            #expect(try await week.value("notes") == "one\ntwo")
        case ("a random one", 0):
            let words = try await week.value("bank").split(separator: "-")
            #expect(words.count >= 6 && !screen.contains(words[0]))
        case ("user and address beside it", 0):
            #expect(try await week.value("shop") == "sh0p\nuser: me@example.org\nurl: https://shop.example")
        case ("one-time codes", 1): #expect(screen.contains(/[0-9]{6}/))
        case ("to a program, in variables or a file", 1):
            #expect(try week.read("app.conf") == "token = t0ken\nuser = me@example.org\n")
        case ("list, as a tree", 0):
            for name in ["bank", "mail", "notes", "shop"] { #expect(screen.contains(name)) }
        case ("find by a part of the name", 0), ("find by a field", 0):
            for text in ["mail", "example", "token"] { #expect(!screen.contains(text)) }
        case ("rename, also a folder", _):
            let name = number == 0 ? "web/shop" : "sites/shop"
            #expect(try await week.value(name).hasPrefix("sh0p\n"))
        case ("copy, delete", 0): #expect(try await week.value("mail-old") == "m4il pass")
        case ("copy, delete", 1): #expect(try await week.keychain.run("get", "mail-old").status == 3)
        case ("edit in an editor", 0):
            #expect(try await week.value("sites/shop").hasPrefix("n3w\nuser: me@example.org\n"))
        case ("take a change back", _):
            #expect(try await week.keychain.run("get", "notes").status == (number == 0 ? 3 : 0))
        case ("a gesture for one secret", 0):
            let shown = try await week.keychain.run("show", "bank").text
            #expect(shown.contains("Requires:   a finger of those"), "\(shown)")
        case ("lock, also by time, and unlock", _):
            let status = try await week.keychain.run("status").text
            #expect(status.contains("Keychain:   unlocked") == (number != 1), "\(status)")
            if number == 0 { #expect(status.contains("20 min") || status.contains("19 min"), "\(status)") }
        case ("back up and verify", 0):
            #expect(screen.contains("bank"), "what is left out is named: \(screen)")
        case (elsewhere, 0):
            #expect(try await week.value("mail") == "m4il pass")
            #expect(try await week.value("sites/shop").hasPrefix("n3w\n"))
            #expect(try await week.keychain.run("delete", "notes", "--yes").status == 0)
        case (elsewhere, 1): #expect(try await week.value("notes") == "one\ntwo")
        case ("passwords for git", 0):
            let credential = "protocol=https\\nhost=git.example\\nusername=me\\npassword=g1t\\n"
            try await week.type("printf '\(credential)' | git credential approve")
        case ("who used what", 0):
            #expect(screen.contains("program="), "\(screen)")
            for name in ["mail", "shop"] { #expect(!screen.contains(name)) }
        case ("who used what", 1):
            #expect(screen.contains("mail"), "\(screen)")
        default: break
        }
    }
}
