import Foundation
import Glibc
import KeychainClient
import KeychainModel
import Testing
import TouchstoneTesting

@Suite("Wrong passcodes while the file that counts them is replaced", .serialized)
struct AttemptPlaceTests {
    enum Replacement: String, CaseIterable {
        case copied, older, gone, directoryGone, directoryCopied, directoryEmpty
    }

    // Catches a count in a file that no name leads to, which is forgotten with the daemon: a free guess each.
    @Test("there is no free guess", arguments: Replacement.allCases)
    func guesses(_ replacement: Replacement) async throws {
        let files = FileManager.default
        let keychain = try await PrivateKeychain.ready()
        try keychain.client.lock()
        let path = keychain.layout.dataDirectory
        let (attempts, aside) = (path + "/attempts", keychain.home.appending("aside"))
        let older = try Data(contentsOf: URL(fileURLWithPath: attempts))
        var judged = 0
        for round in 1...3 {
            let prompts = keychain.prompts
            try keychain.tellPerson([.types("wrong passcode \(round)"), .cancels])
            #expect(throws: KeychainError.self) { try keychain.unlock() }
            // The second prompt says that it was wrong.
            judged += keychain.prompts - prompts == 2 ? 1 : 0
            guard round == 1 else { continue }
            switch replacement {
            case .copied:
                try files.copyItem(atPath: attempts, toPath: path + "/copy")
                guard unsafe rename(path + "/copy", attempts) == 0 else { throw POSIXError(.EIO) }
            case .older:
                try older.write(to: URL(fileURLWithPath: path + "/copy"))
                guard unsafe chmod(path + "/copy", 0o600) == 0, unsafe rename(path + "/copy", attempts) == 0
                else { throw POSIXError(.EIO) }
            case .gone: try files.removeItem(atPath: attempts)
            case .directoryGone: try files.moveItem(atPath: path, toPath: aside)
            case .directoryCopied:
                try files.moveItem(atPath: path, toPath: aside)
                try files.copyItem(atPath: aside, toPath: path)
            case .directoryEmpty:
                try files.moveItem(atPath: path, toPath: aside)
                guard unsafe mkdir(path, 0o700) == 0 else { throw POSIXError(.EIO) }
            }
        }
        let isAway = replacement == .directoryGone || replacement == .directoryEmpty
        #expect(judged == (isAway ? 1 : 3))
        keychain.stop(with: SIGKILL)
        if isAway {
            try? files.removeItem(atPath: path)
            try files.moveItem(atPath: aside, toPath: path)
        }
        try await keychain.start()
        #expect(try keychain.client.status().authentication.passcodeFailures == judged)
        try keychain.tellPerson([])
        try keychain.unlock()
    }
}
