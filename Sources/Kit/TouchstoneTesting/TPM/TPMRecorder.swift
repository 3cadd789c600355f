import Foundation
import Glibc
import SecretMemory

/// A proxy between a driver and a chip that records every byte, and can lose or forge responses.
///
/// ```swift
/// let recorder = try TPMRecorder(chip)
/// let tpm = TPM(configuration: recorder.tcti)
/// #expect(!recorder.traffic.contains(secret))
/// ```
package final class TPMRecorder: Sendable {
    /// What the recorder does with a command.
    package enum Treatment: Sendable, Equatable {
        /// Forwards it to the chip, and returns the response.
        case pass
        /// Drops the command and the connection: the chip is not reachable.
        case loseCommand
        /// Forwards it to the chip, then drops the response and the connection.
        case loseAnswer
        /// Cuts the power before the chip gets it.
        case powerOffBefore
        /// Cuts the power after the chip has executed it; the response is lost.
        case powerOffAfter
        /// Responds with this error code; the chip does not get the command.
        case answer(UInt32)
        /// Forwards it to the chip, and responds with this error code in place of its response.
        case answerInstead(UInt32)
    }

    /// A recorded command.
    package struct Command: Sendable, Equatable {
        /// `TPM2_CC`, for example 0x15E for `TPM2_Unseal`.
        package let code: UInt32
        /// The bytes of the command.
        package let octets: [UInt8]
        /// The bytes of its response; empty when there was none.
        package var answer: [UInt8]
    }

    private struct State: Sendable {
        var commands: [Command] = []
        var treatment: @Sendable (Command) -> Treatment = { _ in .pass }
    }

    private let directory: TemporaryDirectory
    private let listener: StreamSocket
    private let chip: SoftwareTPM
    private let state = Guarded(State())

    /// The transport for the driver: `swtpm:path=…`.
    package var tcti: String { "swtpm:path=\(directory.appending("bus.sock"))" }

    /// All commands recorded so far, in order.
    package var commands: [Command] { state.withLock { $0.commands } }

    /// All bytes recorded so far, in both directions.
    package var traffic: [UInt8] { commands.flatMap { $0.octets + $0.answer } }

    /// Starts a proxy for a chip.
    ///
    /// - Throws: ``TestKitError`` with the system's reason.
    package init(_ chip: SoftwareTPM) throws {
        directory = try TemporaryDirectory()
        self.chip = chip
        let control = directory.appending("bus.sock.ctrl")
        try FileManager.default.createSymbolicLink(
            atPath: control,
            withDestinationPath: "\(chip.socket).ctrl"
        )
        listener = try StreamSocket(listeningAt: directory.appending("bus.sock"))
        Thread.detachNewThread { [weak self, listener] in
            while let client = listener.accepted() {
                guard let recorder = self else { return }
                Thread.detachNewThread { [weak recorder] in
                    while let command = client.readMessage(), let recorder {
                        guard let answer = recorder.answer(to: command), client.write(answer) else { break }
                    }
                    client.shutDown()
                }
            }
        }
    }

    deinit { listener.shutDown() }

    /// Sets how each command is treated from now on; the closure runs on a thread of the recorder.
    package func treat(_ treatment: @escaping @Sendable (Command) -> Treatment) {
        state.withLock { $0.treatment = treatment }
    }

    /// Forgets the recorded commands.
    package func forget() { state.withLock { $0.commands = [] } }

    /// The response to a command; nil to end the connection.
    private func answer(to octets: [UInt8]) -> [UInt8]? {
        let code = octets[6..<10].reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
        var command = Command(code: code, octets: octets, answer: [])
        let treatment = state.withLock { $0.treatment }
        let fate = treatment(command)
        defer { state.withLock { $0.commands.append(command) } }
        switch fate {
        case .powerOffBefore:
            chip.powerOff()
            return nil
        case .loseCommand: return nil
        case .answer(let code):
            command.answer = Self.error(code)
            return command.answer
        case .pass, .loseAnswer, .powerOffAfter, .answerInstead:
            guard let socket = try? StreamSocket(connectedTo: chip.socket), socket.write(octets),
                let answer = socket.readMessage()
            else { return nil }
            command.answer = answer
            switch fate {
            case .pass: return answer
            case .answerInstead(let code):
                command.answer = Self.error(code)
                return command.answer
            case .powerOffAfter:
                chip.powerOff()
                return nil
            default: return nil
            }
        }
    }

    private static func error(_ code: UInt32) -> [UInt8] {
        [0x80, 0x01, 0, 0, 0, 10] + [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: code >> $0) }
    }
}
