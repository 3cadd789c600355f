import CPKCS11
import Foundation
import Glibc
import ScriptedDaemon
import Testing
import TouchstoneTesting

/// The rules of the module, called by a program of its own.
///
/// The cells: no daemon, not set up, locked since the start, unlocked; one process, a fork, loaded again; nothing shown, shown and
/// answered, cancelled, gone.
@Suite(
    "The PKCS #11 module",
    .enabled(if: ModuleKeychain.isPossible, "module, caller, touchstone and touchstoned are not all there"),
    .timeLimit(.minutes(20))
)
struct ModuleTests {
    @Test(
        "without a daemon it is initialised at once, starts none, writes nothing, and the slot has no token"
    )
    func absent() async throws {
        let home = try TemporaryHome()
        var run = CommandRun(ModuleKeychain.module, "absent", home: home)
        run.program = ModuleKeychain.caller
        run.environment = ["TOUCHSTONE_DAEMON": Programs.touchstoned]
        let result = try await run.run()
        let lines = result.text.split(separator: "\n").map(String.init)
        let milliseconds = lines.first { $0.hasPrefix("milliseconds ") }.flatMap { Int($0.dropFirst(13)) }
        #expect(try #require(milliseconds) < 50)
        #expect(
            lines.filter { !$0.hasPrefix("milliseconds") } == [
                "Initialize \(Code.ok)", "GetSlotList \(Code.ok)", "slots 1", "GetSlotList \(Code.ok)",
                "present 0", "GetSlotInfo \(Code.ok)", "token 0", "GetTokenInfo \(Code.tokenNotPresent)",
                "OpenSession \(Code.tokenNotPresent)", "Finalize \(Code.ok)",
            ]
        )
        #expect(result.errors.isEmpty)
        #expect(try FileManager.default.contentsOfDirectory(atPath: home.path + "/run").isEmpty)
    }

    @Test("before set-up the slot has no token")
    func notSetUp() async throws {
        let keychain = try RealKeychain()
        #expect(try await keychain.run("key", "agent").status == 0)
        var run = CommandRun(ModuleKeychain.module, "absent", home: keychain.home)
        run.program = ModuleKeychain.caller
        let lines = try await run.run().text.split(separator: "\n")
        #expect(lines.contains("present 0") && lines.contains("OpenSession \(Code.tokenNotPresent)"))
        #expect(keychain.prompts == 0)
    }

    @Test("the token needs no login, takes every one, and tries no PIN")
    func login() async throws {
        let world = try await ModuleKeychain()
        let before = world.keychain.prompts
        let flags =
            CKF_RNG | CKF_WRITE_PROTECTED | CKF_USER_PIN_INITIALIZED | CKF_PROTECTED_AUTHENTICATION_PATH
            | CKF_TOKEN_INITIALIZED
        let unsupported = ["InitToken", "InitPIN", "SetPIN"].map { "\($0) \(Code.functionNotSupported)" }
        #expect(
            try await world.call("login") == [
                "GetTokenInfo \(Code.ok)", "flags \(String(flags, radix: 16))", "state 0",
            ] + Array(repeating: "Login \(Code.ok)", count: 6) + [
                "pin wrong", "state 1", "Logout \(Code.ok)",
            ] + unsupported
        )
        #expect(world.keychain.prompts == before)
        let status = try await world.keychain.run("status", "--json").text.filter { !$0.isWhitespace }
        #expect(status.contains("\"passcodeFailures\":0"), "\(status)")
    }

    @Test(
        "lists, sizes and beginnings show nothing; one signature shows one box, which names program and key"
    )
    func signature() async throws {
        let world = try await ModuleKeychain()
        let before = world.keychain.prompts
        let lines = try await world.call("sizes", "work")
        #expect(
            lines.filter { !$0.hasPrefix("signature") } == [
                "SignInit \(Code.ok)", "Sign \(Code.ok)", "size 64", "Sign \(Code.bufferTooSmall)",
                "SignUpdate \(Code.ok)", "SignFinal \(Code.ok)", "size 64",
                "SignFinal \(Code.bufferTooSmall)", "asked nothing", "SignFinal \(Code.ok)",
                "SignFinal \(Code.operationNotInitialized)", "point 67",
                "GetAttributeValue \(Code.attributeSensitive)",
            ]
        )
        #expect(world.keychain.prompts == before + 1)
        let box = try #require(world.keychain.boxes.last)
        #expect(box.contains("Requested by \(ModuleKeychain.caller) (process"))
        #expect(box.contains("\"Sign with the key 'work'.\""))
        #expect(box.contains("\"What for, and for which host, is not known.\""))
        let log = try await world.keychain.run("log").text
        #expect(log.contains("sign with 'work', purpose not known"), "\(log)")
    }

    @Test(
        "a cancelled box refuses the function, and the next signature asks anew"
    )
    func cancelled() async throws {
        let world = try await ModuleKeychain()
        try world.tellPerson(.cancels)
        #expect(try await world.call("sign", "work").dropFirst().first == "Sign \(Code.functionRejected)")
        #expect(try await world.call("sign", "work").dropFirst().first == "Sign \(Code.ok)")
    }

    @Test("while one session waits others work; closing it dismisses its box")
    func otherSessions() async throws {
        let world = try await ModuleKeychain()
        try world.tellPerson(.waits)
        let lines = try await world.call("wait", "work", "others") {}
        #expect(Array(lines.prefix(3)) == ["free 1", "other \(Code.ok)", "same \(Code.operationActive)"])
        #expect(Set(lines.dropFirst(3)) == ["CloseSession \(Code.ok)", "Sign \(Code.functionRejected)"])
        #expect(try await world.call("sign", "work").contains("Sign \(Code.ok)"))
    }

    @Test("ending the library dismisses the box of a signature in progress")
    func finalized() async throws {
        let world = try await ModuleKeychain()
        try world.tellPerson(.waits)
        let lines = try await world.call("wait", "work", "finalize") {}
        #expect(Set(lines) == ["Finalize \(Code.ok)", "Sign \(Code.functionRejected)"])
    }

    @Test(
        "a daemon that is killed with its box open is a fault of the device, and the next call connects anew"
    )
    func killed() async throws {
        let world = try await ModuleKeychain()
        try world.tellPerson(.waits)
        let lines = try await world.call("wait", "work", "daemon") {
            try world.keychain.stop(with: SIGKILL)
            #expect(try await world.keychain.run("key", "list").status == 0)
        }
        #expect(lines == ["Sign \(Code.deviceError)", "again \(Code.ok)"])
    }

    @Test(
        "before the first unlock a search asks once in a process; refused, it fails rather than finds nothing"
    )
    func cold() async throws {
        let world = try await ModuleKeychain()
        try world.keychain.stop(with: SIGTERM)
        #expect(try await world.keychain.run("key", "agent").status == 0)
        try world.tellPerson(.cancels)
        let before = world.keychain.prompts
        #expect(
            try await world.call("sign", "free") == [
                "FindObjectsInit \(Code.functionRejected)", "found 0",
                "FindObjectsInit \(Code.functionRejected)",
            ]
        )
        #expect(world.keychain.prompts == before + 1)
        #expect(
            try await world.call("sign", "free") == [
                "found 1", "Sign \(Code.ok)", "FindObjectsInit \(Code.ok)",
            ]
        )
        #expect(world.keychain.prompts == before + 2)
        #expect(world.keychain.boxes.last?.contains("\"List the keys.\"") == true)
    }

    @Test("after a fork the child has to initialise the library, and the parent's connection goes on")
    func forked() async throws {
        let world = try await ModuleKeychain()
        #expect(
            try await world.call("fork") == [
                "child GetSessionInfo \(Code.notInitialized)", "child Finalize \(Code.notInitialized)",
                "child Initialize \(Code.ok)", "child Sign \(Code.ok)", "child Finalize \(Code.ok)",
                "parent Sign \(Code.ok)", "parent Finalize \(Code.ok)",
            ]
        )
    }

    @Test("a fork while another thread waits for the user leaves the child a library of its own")
    func forkedInCall() async throws {
        let world = try await ModuleKeychain()
        try world.tellPerson(.waits)
        let lines = try await world.call("wait", "work", "fork") {}
        #expect(
            Array(lines.prefix(5)) == [
                "child GetSessionInfo \(Code.notInitialized)", "child Finalize \(Code.notInitialized)",
                "child Initialize \(Code.ok)", "child Sign \(Code.ok)", "child Finalize \(Code.ok)",
            ]
        )
        #expect(
            Set(lines.dropFirst(5)) == ["CloseAllSessions \(Code.ok)", "Sign \(Code.functionRejected)"]
        )
    }

    @Test("unloaded and loaded again it works, and gives no handle twice")
    func reloaded() async throws {
        let world = try await ModuleKeychain()
        let round = [
            "Initialize \(Code.ok)", "Initialize \(Code.alreadyInitialized)", "new 1", "Finalize \(Code.ok)",
            "Finalize \(Code.notInitialized)",
        ]
        #expect(try await world.call("reload") == round + round + round)
    }

    @Test(
        "two keys agree on the same secret; a point off the curve and a secret for the token are refused without a box"
    )
    func agreement() async throws {
        let world = try await ModuleKeychain()
        let before = world.keychain.prompts
        #expect(
            try await world.call("agree") == [
                "DeriveKey \(Code.ok)", "DeriveKey \(Code.ok)", "same 1",
                "DeriveKey \(Code.mechanismParameterInvalid)", "DeriveKey \(Code.mechanismParameterInvalid)",
            ]
        )
        #expect(world.keychain.prompts == before + 1)
        #expect(world.keychain.boxes.last?.contains("\"Agree on a secret with the key 'work'.\"") == true)
    }

    @Test("keys are neither made, stored, changed nor deleted by a program")
    func changes() async throws {
        let world = try await ModuleKeychain()
        #expect(
            try await world.call("changes") == [
                "OpenSession \(Code.ok)", "GenerateKeyPair \(Code.functionNotSupported)",
                "CreateObject \(Code.attributeValueInvalid)", "CreateObject \(Code.tokenWriteProtected)",
                "SetAttributeValue \(Code.actionProhibited)", "DestroyObject \(Code.actionProhibited)",
                "CopyObject \(Code.functionNotSupported)", "there 1",
            ]
        )
    }

    @Test("a deleted key signs no more, and its handle is invalid after the next search")
    func deleted() async throws {
        let world = try await ModuleKeychain()
        try await world.makeKey("old", "--require", "none")
        var run = try world.command(ModuleKeychain.caller, [ModuleKeychain.module, "stale", "old"])
        run.input = .terminal
        let started = try run.start()
        _ = try await world.keychain.run("log")
        let keychain = world.keychain
        try await Deadline.wait(for: "the first signature") {
            try await keychain.run("log").text.contains("sign with 'old'") ? true : nil
        }
        #expect(try await world.keychain.run("key", "delete", "--yes", "old").status == 0)
        run.terminal?.type("\n")
        #expect(
            await started.result().text.split(separator: "\n").map(String.init) == [
                "Sign \(Code.ok)", "Sign \(Code.keyHandleInvalid)", "found 0",
                "GetAttributeValue \(Code.objectHandleInvalid)", "Sign \(Code.keyHandleInvalid)",
            ]
        )
    }

    @Test("a key for certain hosts is not there")
    func hosts() async throws {
        let world = try await ModuleKeychain()
        try FileManager.default.createDirectory(
            atPath: world.directory.appending(".ssh"),
            withIntermediateDirectories: true
        )
        let key = try await world.makeKey("any")
        try "git.example \(key)\n".write(
            toFile: world.directory.appending(".ssh/known_hosts"),
            atomically: true,
            encoding: .utf8
        )
        try await world.makeKey("git", "--require", "none", "--for", "git.example")
        #expect(try await world.call("sign", "git") == ["found 0", "FindObjectsInit \(Code.ok)"])
    }

    @Test("eight threads with a session each search and sign at once")
    func threads() async throws {
        let world = try await ModuleKeychain()
        #expect(try await world.call("threads") == ["failures 0", "Finalize \(Code.ok)"])
    }

    @Test("256 sessions and 1 MiB in one call are the most")
    func limits() async throws {
        let world = try await ModuleKeychain()
        #expect(
            try await world.call("limits") == [
                "opened 256", "OpenSession \(Code.sessionCount)", "Digest \(Code.dataLengthRange)",
                "Digest \(Code.ok)", "CloseAllSessions \(Code.ok)",
                "CloseSession \(Code.sessionHandleInvalid)",
            ]
        )
    }

    @Test("every function survives bad arguments, with a code of the standard, and shows nothing")
    func arguments() async throws {
        let world = try await ModuleKeychain()
        let before = world.keychain.prompts
        #expect(try await world.call("arguments", "free") == ["survived", "Sign \(Code.ok)"])
        #expect(world.keychain.prompts == before)
    }

    @Test("the library exports one function, and stays in memory")
    func exports() async throws {
        let world = try await ModuleKeychain()
        let symbols = try await world.run("/usr/bin/nm", "-D", "--defined-only", ModuleKeychain.module)
        let names = symbols.text.split(separator: "\n").compactMap { $0.split(separator: " ").last }
        #expect(names == ["C_GetFunctionList"])
        let flags = try await world.run("/usr/bin/readelf", "-d", ModuleKeychain.module).text
        #expect(flags.contains("NODELETE") && flags.contains("NOW"))
        #expect(!flags.contains("libcrypto"))
    }
}
