import Foundation
import KeychainEngine
import KeychainModel
import SecretMemory

/// An export in memory, so that tests can alter it.
final class MemoryExport: ExportFile {
    let octets: [UInt8]
    /// Called before each read.
    private let willRead: @Sendable () throws(KeychainError) -> Void

    init(_ octets: [UInt8], willRead: @escaping @Sendable () throws(KeychainError) -> Void = {}) {
        self.octets = octets
        self.willRead = willRead
    }

    var count: Int { octets.count }

    func append(_ octets: [UInt8]) throws(KeychainError) { throw KeychainError(.unimplemented) }

    func read(from offset: Int, upTo count: Int) throws(KeychainError) -> [UInt8] {
        try willRead()
        return offset < octets.count ? Array(octets[offset...].prefix(count)) : []
    }

    /// The header, and each record with its length prefix.
    static func parts(of octets: [UInt8]) -> [[UInt8]] {
        var parts = [Array(octets.prefix(40))]
        var rest = octets.dropFirst(40)
        while rest.count >= 4 {
            let length = 4 + rest.prefix(4).reduce(0) { $0 << 8 | Int($1) }
            parts.append(Array(rest.prefix(length)))
            rest = rest.dropFirst(length)
        }
        return parts
    }
}

extension KeychainExport {
    /// All bytes.
    func octets() throws -> [UInt8] { try file.read(from: 0, upTo: file.count) }
}

/// A keychain to be exported, with its recovery code.
struct OldKeychain {
    let keychain = TestKeychain()
    let engine: KeychainEngine
    let code: String

    init() async throws {
        engine = try keychain.start()
        code = try engine.makeRecoveryCode().reading()
        try await engine.setUp(passcode: .text(TestKeychain.passcode), recoveryCode: .text(code))
    }

    func export() async throws -> KeychainExport {
        try await engine.export(recoveryCode: .text(code))
    }
}

extension TestKeychain {
    /// The passcode that the owner chooses on the new machine.
    static let newPasscode = "seven quiet copper lanterns"

    /// Copies the files elsewhere, as a crash of the process that holds them would leave them.
    func copy() throws -> TestKeychain {
        let copy = TestKeychain()
        try FileManager.default.copyItem(atPath: path, toPath: copy.path)
        return copy
    }
}

extension KeychainEngine {
    /// Creates the keychain from an export, as the new machine does.
    @discardableResult
    func setUp(from octets: [UInt8], code: String) async throws -> Int {
        try await setUp(
            from: MemoryExport(octets),
            passcode: .text(TestKeychain.newPasscode),
            recoveryCode: .text(code)
        )
    }
}

extension SecretBytes {
    /// The bytes as text; for tests only.
    borrowing func reading() -> String {
        withOctets { octets in String(decoding: octets.indices.map { octets[$0] }, as: UTF8.self) }
    }
}
