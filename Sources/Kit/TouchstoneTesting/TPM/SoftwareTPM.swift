import Foundation
import Glibc
import SecretMemory

/// A TPM 2.0 in a separate process (swtpm), with the power cuts and resets of a real machine.
///
/// ```swift
/// let chip = try await SoftwareTPM.start()
/// let tpm = TPM(configuration: chip.tcti)
/// try await chip.powerCut()
/// ```
///
/// It has no resource manager, room for three objects and three sessions, and keeps what a program leaves loaded. It
/// ends with the value, or with the process.
package actor SoftwareTPM {
    /// The initial content of a chip.
    package enum Chip: Hashable, Sendable {
        /// An empty, unique chip: ready at once.
        case blank
        /// Endorsement keys with certificates from ``TestAuthority``; the same number gives the same chip again.
        ///
        /// The first chip of a number takes about a second, the following are copies.
        case certified(Int)
    }

    /// The chip's non-volatile state.
    package struct State: Sendable {
        let files: [String: Data]

        /// The state that a directory holds.
        package init(directory: String) throws {
            // The chip may replace a file between the listing and the reading: then list again.
            for _ in 0..<100 {
                if let files = try? Self.read(directory) {
                    self.files = files
                    return
                }
            }
            files = try Self.read(directory)
        }

        /// Writes the state into a directory.
        package func write(to directory: String) throws {
            for (name, content) in files {
                try content.write(to: URL(fileURLWithPath: "\(directory)/\(name)"))
            }
        }

        private static func read(_ directory: String) throws -> [String: Data] {
            var files: [String: Data] = [:]
            for name in try FileManager.default.contentsOfDirectory(atPath: directory)
            where !name.hasPrefix(".") {
                files[name] = try Data(contentsOf: URL(fileURLWithPath: "\(directory)/\(name)"))
            }
            return files
        }
    }

    private let directory: TemporaryDirectory
    private nonisolated let program = Guarded<ChildProcess?>(nil)

    /// The chip's transport, as tpm2-tss and tpm2-tools take it: `swtpm:path=…`.
    package nonisolated var tcti: String { "swtpm:path=\(socket)" }

    /// The command socket; the simulator's control socket is beside it, with `.ctrl` appended.
    package nonisolated var socket: String { directory.appending("tpm.sock") }

    /// Starts a chip.
    ///
    /// - Returns: the chip, ready for commands.
    /// - Throws: ``TestKitError`` when swtpm is missing or does not come up.
    package static func start(_ chip: Chip = .blank) async throws -> SoftwareTPM {
        let tpm = SoftwareTPM(try TemporaryDirectory())
        _ = try tpm.directory.makeDirectory("state")
        if case .certified(let number) = chip {
            let state = try await PreparedChips.shared.state(number)
            try await tpm.write(state)
        }
        try await tpm.powerOn()
        return tpm
    }

    /// The authority that signed the certificates of this process's certified chips.
    ///
    /// - Throws: ``TestKitError`` when no certified chip was made yet.
    package static func authority() async throws -> TestAuthority {
        try await PreparedChips.shared.authority()
    }

    private init(_ directory: TemporaryDirectory) { self.directory = directory }

    /// Lets a group use the chip until its next start, as the group `tss` may use the machine's.
    package nonisolated func admit(group: UInt32) throws {
        guard unsafe chmod(directory.path, 0o711) == 0 else {
            throw TestKitError.system("chmod", errno: errno)
        }
        for name in [socket, "\(socket).ctrl"] {
            guard unsafe chown(name, 0, group) == 0, unsafe chmod(name, 0o660) == 0 else {
                throw TestKitError.system("chown", errno: errno)
            }
        }
    }

    // MARK: Power

    /// Starts the chip again after ``powerOff()``.
    package func powerOn() async throws {
        for name in [socket, "\(socket).ctrl"] { try? FileManager.default.removeItem(atPath: name) }
        let started = try await ChildProcess.start(
            "/usr/bin/swtpm",
            [
                "socket", "--tpm2", "--tpmstate", "dir=\(stateDirectory)",
                "--server", "type=unixio,path=\(socket)",
                "--ctrl", "type=unixio,path=\(socket).ctrl",
                "--flags", "not-need-init,startup-clear",
            ],
            log: directory.appending("swtpm.log")
        )
        program.withLock { $0 = started }
        try await Deadline.wait(for: "swtpm") { try? StreamSocket(connectedTo: socket) }
    }

    /// Cuts the power at once (`kill -9`): the chip gets no orderly shutdown.
    package nonisolated func powerOff() {
        let stopped = program.withLock { program in
            defer { program = nil }
            return program
        }
        stopped?.stop()
    }

    /// Suspends the chip, which answers nothing until it is resumed (SIGSTOP, SIGCONT).
    package nonisolated func setSilent(_ isSilent: Bool) {
        program.withLock { program in
            guard let program else { return }
            _ = kill(program.processID, isSilent ? SIGSTOP : SIGCONT)
        }
    }

    /// Cuts the power and restores it.
    package func powerCut() async throws {
        powerOff()
        try await powerOn()
    }

    /// Restarts the machine in an orderly way: `TPM2_Shutdown`, then a new start.
    package func reset() async throws {
        try shutDown()
        try await powerCut()
    }

    // MARK: What the machine's owner can do

    /// Erases the owner's keys and indices (`TPM2_Clear` with platform authorisation).
    package func clear() throws {
        try run(TPMCommand(0x0000_0126, handle: 0x4000_000C))
    }

    /// Sets the chip's dictionary-attack limit (`TPM2_DictionaryAttackParameters`); swtpm starts with 3 and 1000 s.
    ///
    /// - Parameters:
    ///   - guesses: the number of wrong guesses that leads to the lockout.
    ///   - interval: seconds after which one wrong guess is forgotten.
    ///   - recovery: seconds for which a wrong lockout authorisation blocks further ones.
    /// - Throws: ``TestKitError`` when the chip is in use or refuses.
    package func setGuessLimit(_ guesses: UInt32, interval: UInt32 = 600, recovery: UInt32 = 600) throws {
        try run(TPMCommand(0x0000_013A, handle: 0x4000_000A, parameters: [guesses, interval, recovery]))
    }

    /// Sets the owner's authorisation (`TPM2_HierarchyChangeAuth`).
    ///
    /// - Parameters:
    ///   - value: empty for none.
    ///   - former: the present value.
    /// - Throws: ``TestKitError`` when the chip is in use or refuses.
    package func setOwnerAuthorization(_ value: [UInt8], from former: [UInt8] = []) throws {
        var command = TPMCommand(0x0000_0129, handle: 0x4000_0001, password: former)
        command.append(value)
        try run(command)
    }

    /// Fills the chip's NV memory with indices of the owner (`TPM2_NV_DefineSpace`).
    package func fill() throws {
        var handle: UInt32 = 0x0180_0000
        // Some memory is reserved for counters (TPMA_NV_COUNTER), which therefore come last.
        for (size, type): (UInt16, UInt32) in [(2048, 0), (256, 0), (32, 0), (8, 0), (8, 0x10)] {
            // Until TPM_RC_NV_SPACE.
            while try answer(to: .defineIndex(handle, byteCount: size, type)) != 0x14B { handle += 1 }
        }
    }

    /// Guesses wrongly at an index of its own until the chip is in lockout (`TPM_RC_LOCKOUT`).
    package func lockOut() throws {
        let index: UInt32 = 0x0180_FF00
        try run(.defineGuardedIndex(index, password: [1]))
        for _ in 0..<1000 {
            guard try answer(to: .read(index, password: [2])) != 0x921 else { return }
        }
        throw TestKitError.unexpected("the TPM takes any number of guesses")
    }

    /// Removes all counters defined with owner authorisation (`TPM2_NV_UndefineSpace`).
    package func removeCounters() throws {
        for handle in try indices() {
            // TPM2_NV_ReadPublic: the attributes follow the size, the handle and the name algorithm.
            let area = try exchange(.readPublic(handle))
            guard area.count > 21, area[21] & 0xF0 == 0x10 else { continue }
            try run(.undefineIndex(handle))
        }
    }

    /// Shuts the chip down in order (`TPM2_Shutdown`), as an operating system does.
    package func shutDown() throws {
        try run(TPMCommand(unauthorized: 0x0000_0145, parameters: [0, 0]))
    }

    /// The handles of the objects and sessions that are now loaded or saved (`TPM2_GetCapability`).
    package func handles() throws -> [UInt32] {
        // Transient objects, loaded sessions, saved sessions.
        try [0x8000_0000, 0x0200_0000, 0x0300_0000].flatMap(handles)
    }

    /// The handles of the defined NV indices (`TPM2_GetCapability`).
    package func indices() throws -> [UInt32] { try handles(from: 0x0100_0000) }

    /// Flushes an object or a session from the chip (`TPM2_FlushContext`), whichever program loaded it.
    package func flush(_ handle: UInt32) throws { try run(.flush(handle)) }

    private func handles(from first: UInt32) throws -> [UInt32] {
        let answer = try exchange(.handles(from: first))
        guard answer.count >= 19 else { throw TestKitError.unexpected("TPM: no handles") }
        return stride(from: 19, to: answer.count - 3, by: 4).map { place in
            answer[place..<(place + 4)].reduce(0) { $0 << 8 | UInt32($1) }
        }
    }

    private func run(_ command: TPMCommand) throws {
        let code = try answer(to: command)
        guard code == 0 else { throw TestKitError.unexpected("TPM: 0x\(String(code, radix: 16))") }
    }

    /// The response code.
    private func answer(to command: TPMCommand) throws -> UInt32 {
        try exchange(command)[6..<10].reduce(0) { $0 << 8 | UInt32($1) }
    }

    private func exchange(_ command: TPMCommand) throws -> [UInt8] {
        let answer = try StreamSocket(connectedTo: socket).exchange(command.octets, atMost: Deadline.patience)
        guard answer.count >= 10 else { throw TestKitError.timedOut("an answer of the TPM") }
        return answer
    }

    // MARK: State

    /// Copies the chip's non-volatile state.
    package func copyState() throws -> State { try State(directory: stateDirectory) }

    /// Replaces the present state by an older one, with a power cut.
    package func restoreState(_ state: State) async throws {
        powerOff()
        try write(state)
        try await powerOn()
    }

    private func write(_ state: State) throws {
        for name in try FileManager.default.contentsOfDirectory(atPath: stateDirectory) {
            try FileManager.default.removeItem(atPath: "\(stateDirectory)/\(name)")
        }
        try state.write(to: stateDirectory)
    }

    private nonisolated var stateDirectory: String { directory.appending("state") }
}
