import Foundation
import KeychainModel
import ScriptedDaemon
import Testing
import TouchstoneTesting

@Suite(
    "A credential or secret that is replaced",
    .enabled(if: RealKeychain.isPossible, "touchstone and touchstoned are not both built")
)
struct CredentialReplacementTests {
    private static let variable = "TOUCHSTONE_CREDENTIAL_REQUIRE"
    private static let site = "protocol=https\nhost=h\nusername=u\n"
    private static let credential = "git:https://u@h"
    private static let registry = "reg.example"
    private static let login = "docker:reg.example"

    private static func login(_ secret: String) -> String {
        "{\"ServerURL\":\"\(registry)\",\"Username\":\"u\",\"Secret\":\"\(secret)\"}"
    }

    private static let tooLong = String(repeating: "x", count: ItemLimits.longestData + 1)

    /// A replacement that has to be refused: the name of what it would replace, and a run.
    private struct Refused: Sendable {
        let what: String
        let name: String
        /// Whether the former secret must have a requirement: without one nobody is asked.
        var needsGuard = false
        let run: @Sendable (CredentialPlace) async throws -> CommandResult
    }

    private static let refused: [Refused] = [
        Refused(what: "git, no finger", name: credential) {
            try await $0.helper("store", site + "password=new\n", [variable: "finger"])
        },
        Refused(what: "git, no finger, another expiry", name: credential) {
            try await $0.helper(
                "store",
                site + "password=new\npassword_expiry_utc=9999999999\n",
                [variable: "finger"]
            )
        },
        Refused(what: "git, the same password, no finger", name: credential) {
            try await $0.helper("store", site + "password=old\n", [variable: "finger"])
        },
        Refused(what: "git, misspelt", name: credential) {
            try await $0.helper("store", site + "password=new\n", [variable: "fingre"])
        },
        Refused(what: "git, too large", name: credential) {
            try await $0.helper("store", site + "password=\(tooLong)\n")
        },
        Refused(what: "docker, no finger", name: login) {
            try await $0.docker("store", login("new"), [variable: "finger"])
        },
        Refused(what: "docker, misspelt", name: login) {
            try await $0.docker("store", login("new"), [variable: "fingre"])
        },
        Refused(what: "docker, too large", name: login) {
            try await $0.docker("store", login(tooLong))
        },
        Refused(what: "docker, malformed", name: login) {
            try await $0.docker("store", String(login("new").dropLast()))
        },
        Refused(what: "set, no finger", name: "secret") {
            try await $0.keychain.run("set", "secret", "--replace", "--require", "finger", input: "new")
        },
        Refused(what: "set, misspelt", name: "secret") {
            try await $0.keychain.run("set", "secret", "--replace", "--require", "fingre", input: "new")
        },
        Refused(what: "set, too large", name: "secret") {
            try await $0.keychain.run("set", "secret", "--replace", input: tooLong)
        },
        Refused(what: "set, without --replace", name: "secret") {
            try await $0.keychain.run("set", "secret", input: "new")
        },
        Refused(what: "set, cancelled", name: "secret", needsGuard: true) { place in
            try place.keychain.setCancels(true)
            return try await place.keychain.run("set", "secret", "--replace", input: "new")
        },
        Refused(what: "generate, no finger", name: "secret") {
            try await $0.keychain.run("generate", "secret", "--replace", "--require", "finger")
        },
        Refused(what: "copy, cancelled", name: "secret", needsGuard: true) { place in
            try place.keychain.setCancels(true)
            return try await place.keychain.run("copy", "other", "secret", "--replace")
        },
        Refused(what: "copy, without --replace", name: "secret") {
            try await $0.keychain.run("copy", "other", "secret")
        },
        Refused(what: "rename, cancelled", name: "secret", needsGuard: true) { place in
            try place.keychain.setCancels(true)
            return try await place.keychain.run("rename", "secret", "third")
        },
        Refused(what: "rename, onto another", name: "secret") {
            try await $0.keychain.run("rename", "other", "secret")
        },
    ]

    @Test(
        "a refused replacement says so and leaves the former value and requirement: every command, every refusal",
        arguments: ["none", "passcode", "either"]
    )
    func refusals(former: String) async throws {
        let place = try await CredentialPlace()
        let requirement = [Self.variable: former]
        #expect(try await place.helper("store", Self.site + "password=old\n", requirement).status == 0)
        #expect(try await place.docker("store", Self.login("old"), requirement).status == 0)
        for name in ["secret", "other"] {
            #expect(try await place.keychain.run("set", name, "--require", former, input: "old").status == 0)
        }
        let list = try await place.keychain.run("list").text
        for refused in Self.refused where former != "none" || !refused.needsGuard {
            let result = try await refused.run(place)
            try place.keychain.setCancels(false)
            #expect(result.status != 0, "\(refused.what)")
            #expect(!(result.errors + result.text).isEmpty, "\(refused.what)")
            // Requirements and dates are in the list.
            #expect(try await place.keychain.run("list").text == list, "\(refused.what): \(result.errors)")
            #expect(try await place.keychain.run("get", refused.name).text == "old", "\(refused.what)")
        }
    }

    @Test(
        "a new password replaces the former one without its prompt, and a changed requirement is told",
        arguments: ["none", "passcode", "either"],
        [nil, "none", "passcode", "either"]
    )
    func replaced(former: String, wanted: String?) async throws {
        let place = try await CredentialPlace()
        let before = [Self.variable: former]
        #expect(try await place.helper("store", Self.site + "password=old\n", before).status == 0)
        #expect(try await place.docker("store", Self.login("old"), before).status == 0)
        let prompts = place.keychain.prompts
        let after = wanted.map { [Self.variable: $0] } ?? [:]
        let stored = try await place.helper("store", Self.site + "password=new\n", after)
        let logged = try await place.docker("store", Self.login("new"), after)
        for (result, name) in [(stored, Self.credential), (logged, Self.login)] {
            #expect(result.status == 0, "\(result.errors)")
            let told = "'\(name)' requires \(wanted ?? former) from now on (before: \(former))\n"
            #expect(result.errors == (wanted ?? former == former ? "" : told))
            let list = try await place.keychain.run("list").text
            #expect(list.contains("\(name)\t\(wanted ?? former)\t"), "\(list)")
        }
        #expect(place.keychain.prompts == prompts)
        #expect(try await place.helper("get", Self.site).text.contains("password=new\n"))
        #expect(try await place.docker("get", Self.registry).text.contains("\"Secret\":\"new\""))
        // git stores after each use: nothing is written, nobody is asked.
        let whole = try await place.keychain.run("show", Self.credential, "--json").text
        let shown = place.keychain.prompts
        let again = try await place.helper("store", Self.site + "password=new\n", after)
        #expect(again.status == 0 && again.errors.isEmpty && place.keychain.prompts == shown)
        #expect(try await place.keychain.run("show", Self.credential, "--json").text == whole)
    }

    @Test(
        "erase with another password keeps the credential and says so, with the same one it removes it, without a prompt",
        arguments: ["none", "passcode", "either"]
    )
    func erase(requirement: String) async throws {
        let place = try await CredentialPlace()
        let environment = [Self.variable: requirement]
        for secrets in ["password=old\n", "password=\n", "password=old\noauth_refresh_token=r\n"] {
            #expect(try await place.helper("store", Self.site + secrets, environment).status == 0)
            let prompts = place.keychain.prompts
            for other in ["other", "ol", "r"] {
                let kept = try await place.helper("erase", Self.site + "password=\(other)\n")
                #expect(kept.status == 1)
                #expect(kept.errors.contains("kept '\(Self.credential)': another password is stored"))
                let list = try await place.keychain.run("list").text
                #expect(list.contains("\(Self.credential)\t\(requirement)\t"))
            }
            let password = secrets.split(separator: "\n")[0]
            #expect(try await place.helper("erase", Self.site + password + "\n").status == 0)
            #expect(place.keychain.prompts == prompts)
            #expect(try await !place.keychain.run("list").text.contains(Self.credential))
        }
        // Without a password every credential that is described goes.
        #expect(try await place.helper("store", Self.site + "password=old\n", environment).status == 0)
        #expect(try await place.helper("erase", Self.site).status == 0)
        #expect(try await !place.keychain.run("list").text.contains(Self.credential))
    }

    @Test("a credential that was changed by hand is compared after its prompt")
    func changedByHand() async throws {
        let place = try await CredentialPlace()
        let environment = [Self.variable: "passcode"]
        let two = "password=old\noauth_refresh_token=r\n"
        #expect(try await place.helper("store", Self.site + two, environment).status == 0)
        let changed = "password=hand\noauth_refresh_token=s\n"
        let set = try await place.keychain.run(
            "set",
            Self.credential,
            "--replace",
            "--exact",
            "--require",
            "passcode",
            input: changed
        )
        #expect(set.status == 0, "\(set.errors)")
        try place.keychain.setCancels(true)
        #expect(try await place.helper("erase", Self.site + "password=hand\n").status == 4)
        try place.keychain.setCancels(false)
        let prompts = place.keychain.prompts
        #expect(try await place.helper("erase", Self.site + "password=old\n").status == 1)
        #expect(try await place.helper("get", Self.site).text.contains("password=hand\n"))
        #expect(try await place.helper("erase", Self.site + "password=hand\n").status == 0)
        #expect(place.keychain.prompts == prompts + 3)
        #expect(try await place.helper("get", Self.site).output.isEmpty)
    }

    @Test("an empty password is stored and given back", arguments: ["none", "passcode"])
    func empty(requirement: String) async throws {
        let place = try await CredentialPlace()
        let token = "protocol=https\nhost=h\nusername=token\n"
        let environment = [Self.variable: requirement]
        #expect(try await place.helper("store", token + "password=\n", environment).status == 0)
        #expect(try await place.helper("get", token).text == "username=token\npassword=\n")
        #expect(try await place.git("fill", token).text.contains("password=\n"))
        #expect(try await place.docker("store", Self.login(""), environment).status == 0)
        #expect(try await place.docker("get", Self.registry).text.contains("\"Secret\":\"\""))
        // A user without a password line is no credential.
        #expect(try await place.helper("store", "protocol=https\nhost=n\nusername=u\n").status == 0)
        #expect(try await place.helper("get", "protocol=https\nhost=n\n").output.isEmpty)
    }

    @Test("a credential that the user renamed keeps its name")
    func renamed() async throws {
        let place = try await CredentialPlace()
        let environment = [Self.variable: "either"]
        #expect(try await place.helper("store", Self.site + "password=old\n", environment).status == 0)
        #expect(try await place.keychain.run("rename", Self.credential, "work").status == 0)
        #expect(try await place.helper("store", Self.site + "password=new\n").status == 0)
        #expect(try await place.keychain.run("get", "work").text == "new")
        #expect(try await !place.keychain.run("list").text.contains(Self.credential))
    }

    @Test(
        "eight that store one credential at once leave one of theirs, whole, and never none",
        arguments: ["absent", "none", "passcode"]
    )
    func eight(former: String) async throws {
        let place = try await CredentialPlace()
        let before = [Self.variable: former]
        if former != "absent" {
            #expect(try await place.helper("store", Self.site + "password=old\n", before).status == 0)
            #expect(try await place.docker("store", Self.login("old"), before).status == 0)
            #expect(try await place.keychain.run("set", "s", "--require", "none", input: "old").status == 0)
        }
        for round in 0..<CaseSize.of(1, full: 6) {
            try await withThrowingTaskGroup(of: CommandResult.self) { group in
                for number in 0..<8 {
                    let value = "new \(round) \(number)"
                    let wanted = [Self.variable: number % 2 == 0 ? "none" : "passcode"]
                    group.addTask {
                        try await place.helper("store", Self.site + "password=\(value)\n", wanted)
                    }
                    group.addTask { try await place.docker("store", Self.login(value), wanted) }
                    group.addTask {
                        try await place.keychain.run(
                            "set",
                            "s",
                            "--replace",
                            "--require",
                            "none",
                            input: value
                        )
                    }
                }
                for try await result in group {
                    #expect(result.status == 0, "\(result.errors)\(result.text)")
                }
            }
            let list = try await place.keychain.run("list").text.split(separator: "\n")
            for name in [Self.credential, Self.login, "s"] {
                #expect(list.count { $0.hasPrefix(name + "\t") } == 1, "\(list)")
                let value = try await place.keychain.run("get", name).text
                #expect((0..<8).contains { value == "new \(round) \($0)" }, "\(name): \(value)")
            }
        }
    }
}
