import Foundation
import Glibc
import SecretMemory

/// A TPM 2.0 in a program of its own (swtpm), with all that can happen to a machine.
///
/// ```swift
/// let chip = try await SoftwareTPM.start()
/// let tpm = TPM(configuration: chip.tcti)
/// try await chip.powerCut()
/// ```
///
/// It has no resource manager, room for three objects and three sessions, and keeps what a program leaves loaded.
/// It ends with the value, or with the process.
package actor SoftwareTPM {
    /// What a chip comes with.
    package enum Chip: Hashable, Sendable {
        /// Nothing in it, and like no other: ready at once.
        case blank
        /// Endorsement keys with certificates from ``TestAuthority``; the same number is the same chip again.
        ///
        /// The first of a number takes about a second, those after it are copies.
        case certified(Int)
    }

    /// All that a chip keeps without power.
    package struct State: Sendable {
        let files: [String: Data]

        init(directory: String) throws {
            var files: [String: Data] = [:]
            for name in try FileManager.default.contentsOfDirectory(atPath: directory)
            where !name.hasPrefix(".") {
                files[name] = try Data(contentsOf: URL(fileURLWithPath: "\(directory)/\(name)"))
            }
            self.files = files
        }
    }

    private let directory: TemporaryDirectory
    private nonisolated let program = Guarded<ChildProcess?>(nil)

    /// The chip's transport, as tpm2-tss and tpm2-tools take it: `swtpm:path=…`.
    package nonisolated var tcti: String { "swtpm:path=\(socket)" }

    /// The socket that takes commands; beside it, with `.ctrl` at the end, the one that controls the simulator.
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

    /// Who signed the certificates of the certified chips of this process.
    ///
    /// - Throws: ``TestKitError`` when there was none yet.
    package static func authority() async throws -> TestAuthority {
        try await PreparedChips.shared.authority()
    }

    private init(_ directory: TemporaryDirectory) { self.directory = directory }

    /// Lets a group use the chip until it is started anew, as the group `tss` may use the machine's.
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

    /// Starts the chip, after ``powerOff()``.
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

    /// Takes the power away at once (`kill -9`): the chip cannot put anything in order.
    package nonisolated func powerOff() {
        let stopped = program.withLock { program in
            defer { program = nil }
            return program
        }
        stopped?.stop()
    }

    /// Stops the chip, which answers nothing until it goes on (SIGSTOP, SIGCONT).
    package nonisolated func setSilent(_ isSilent: Bool) {
        program.withLock { program in
            guard let program else { return }
            _ = kill(program.processID, isSilent ? SIGSTOP : SIGCONT)
        }
    }

    /// Takes the power away and gives it back.
    package func powerCut() async throws {
        powerOff()
        try await powerOn()
    }

    /// Restarts the machine in order: `TPM2_Shutdown`, then a new start.
    package func reset() async throws {
        try shutDown()
        try await powerCut()
    }

    // MARK: What the machine's owner can do

    /// Makes the chip forget its owner's keys and indices (`TPM2_Clear` by the platform).
    package func clear() throws {
        try run(TPMCommand(0x0000_0126, handle: 0x4000_000C))
    }

    /// Sets the chip's own limit on guesses (`TPM2_DictionaryAttackParameters`); swtpm begins with 3 and 1000 s.
    ///
    /// - Parameters:
    ///   - guesses: how many wrong ones lead to the lockout.
    ///   - interval: seconds after which one is forgotten.
    ///   - recovery: seconds for which a wrong lockout authorisation locks that.
    /// - Throws: ``TestKitError`` when the chip is in use or refuses.
    package func setGuessLimit(_ guesses: UInt32, interval: UInt32 = 600, recovery: UInt32 = 600) throws {
        try run(TPMCommand(0x0000_013A, handle: 0x4000_000A, parameters: [guesses, interval, recovery]))
    }

    /// Sets the owner's authorisation (`TPM2_HierarchyChangeAuth`).
    ///
    /// - Parameters:
    ///   - value: empty for none.
    ///   - former: what it is now.
    /// - Throws: ``TestKitError`` when the chip is in use or refuses.
    package func setOwnerAuthorization(_ value: [UInt8], from former: [UInt8] = []) throws {
        var command = TPMCommand(0x0000_0129, handle: 0x4000_0001, password: former)
        command.append(value)
        try run(command)
    }

    /// Takes all room that the chip has for NV indices, with indices of the owner (`TPM2_NV_DefineSpace`).
    package func fill() throws {
        var handle: UInt32 = 0x0180_0000
        // Some room is kept for counters (TPMA_NV_COUNTER), which come last.
        for (size, type): (UInt16, UInt32) in [(2048, 0), (256, 0), (32, 0), (8, 0), (8, 0x10)] {
            // Until TPM_RC_NV_SPACE.
            while try answer(to: .defineIndex(handle, byteCount: size, type)) != 0x14B { handle += 1 }
        }
    }

    /// Guesses wrongly at an index of its own until the chip takes no more guesses (`TPM_RC_LOCKOUT`).
    package func lockOut() throws {
        let index: UInt32 = 0x0180_FF00
        try run(.defineGuardedIndex(index, password: [1]))
        for _ in 0..<1000 {
            guard try answer(to: .read(index, password: [2])) != 0x921 else { return }
        }
        throw TestKitError.unexpected("the TPM takes any number of guesses")
    }

    /// Removes all counters that were made with the owner's rights (`TPM2_NV_UndefineSpace`).
    package func removeCounters() throws {
        for handle in try indices() {
            // TPM2_NV_ReadPublic: the attributes follow size, handle and algorithm of the name.
            let area = try exchange(.readPublic(handle))
            guard area.count > 21, area[21] & 0xF0 == 0x10 else { continue }
            try run(.undefineIndex(handle))
        }
    }

    /// Ends the chip's work in order (`TPM2_Shutdown`), as an operating system does.
    package func shutDown() throws {
        try run(TPMCommand(unauthorized: 0x0000_0145, parameters: [0, 0]))
    }

    /// The handles of the objects and sessions that are loaded or saved now (`TPM2_GetCapability`).
    package func handles() throws -> [UInt32] {
        // Transient objects, loaded sessions, saved sessions.
        try [0x8000_0000, 0x0200_0000, 0x0300_0000].flatMap(handles)
    }

    /// The handles of the NV indices that there are (`TPM2_GetCapability`).
    package func indices() throws -> [UInt32] { try handles(from: 0x0100_0000) }

    /// Takes an object or a session out of the chip (`TPM2_FlushContext`), whoever loaded it.
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

    /// A copy of all that the chip keeps without power.
    package func copyState() throws -> State { try State(directory: stateDirectory) }

    /// Puts an older state in the place of the present one, with a power cut.
    package func restoreState(_ state: State) async throws {
        powerOff()
        try write(state)
        try await powerOn()
    }

    private func write(_ state: State) throws {
        for name in try FileManager.default.contentsOfDirectory(atPath: stateDirectory) {
            try FileManager.default.removeItem(atPath: "\(stateDirectory)/\(name)")
        }
        for (name, content) in state.files {
            try content.write(to: URL(fileURLWithPath: "\(stateDirectory)/\(name)"))
        }
    }

    private nonisolated var stateDirectory: String { directory.appending("state") }
}
