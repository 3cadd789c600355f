import CTSS2
import Glibc
import KeychainModel
import Testing
import TouchstoneTesting

@testable import TPMDriver

@Suite("Waiting for a TPM's response")
struct AnswerTimeTests {
    /// With `TCTI_ASYNC`, tpm2-tss's transport for the kernel's device exposes its descriptor and reads the header of a response
    /// to learn its length.
    ///
    /// After a response that consists of a header alone nothing is left to read.
    @Test("a response is waited for once, though the library asks for it twice")
    func asksTwice() throws {
        let transport = try PipeTransport()
        unsafe AnswerTime.limit(transport.context, "device:/dev/tpmrm0")
        defer { unsafe AnswerTime.forget(transport.context) }
        let answer: [UInt8] = [0x80, 0x01, 0, 0, 0, 10, 0, 0, 0, 0]
        for _ in 0..<2 {
            let begin = ContinuousClock.now
            #expect(try transport.exchange(answer) == answer)
            #expect(ContinuousClock.now - begin < .milliseconds(Int64(AnswerTime.limit)))
        }
    }

    @Test("a TPM that is silent before its first command is given up in time, and used again once it answers")
    func silentFromTheStart() async throws {
        let chip = try await SoftwareTPM.start()
        let sealer = TPMKeySealer(TPM(chip))
        chip.setSilent(true)
        for expected in [Duration.milliseconds(Int64(AnswerTime.limit)), .zero] {
            let begin = ContinuousClock.now
            let error = await failure { _ = try await sealer.seal(authorization: .fixed(1)) }
            #expect(error.cause?.known == .silentHardware)
            let time = ContinuousClock.now - begin
            #expect(time >= expected && time < expected + .seconds(10))
        }
        chip.setSilent(false)
        _ = try await Deadline.wait(for: "the TPM to be used again") {
            try? await sealer.seal(authorization: .fixed(1)).blob
        }
    }

    @Test("a transport that was already released has no response")
    func forgotten() throws {
        let transport = try PipeTransport()
        unsafe AnswerTime.limit(transport.context, "device:/dev/tpmrm0")
        unsafe AnswerTime.forget(transport.context)
        #expect(throws: TPMError.silent) { try transport.exchange([UInt8](repeating: 0, count: 10)) }
    }
}

/// A TCTI version 1 transport (TCTI specification, 3.2) that echoes each command as its response.
@safe
private final class PipeTransport {
    private struct Context {
        var common = TSS2_TCTI_CONTEXT_COMMON_V1()
        var ends: (read: CInt, write: CInt) = (-1, -1)
    }

    private let memory: UnsafeMutablePointer<Context>

    var context: OpaquePointer { unsafe OpaquePointer(memory) }

    init() throws {
        var ends: [CInt] = [-1, -1]
        try #require(unsafe pipe(&ends) == 0)
        unsafe memory = .allocate(capacity: 1)
        unsafe memory.initialize(to: Context())
        unsafe memory.pointee.ends = (ends[0], ends[1])
        unsafe memory.pointee.common.transmit = { context, count, command in
            guard let own = unsafe PipeTransport.own(context) else { return 1 }
            return unsafe write(own.pointee.ends.write, command, count) == count ? 0 : 1
        }
        unsafe memory.pointee.common.receive = { context, count, answer, _ in
            guard let own = unsafe PipeTransport.own(context) else { return 1 }
            // The header is read when the length is asked for, and kept.
            guard let answer = unsafe answer else {
                unsafe count?.pointee = 10
                return unsafe read(own.pointee.ends.read, PipeTransport.head, 10) == 10 ? 0 : 1
            }
            unsafe answer.update(from: PipeTransport.head, count: 10)
            return 0
        }
        unsafe memory.pointee.common.getPollHandles = { context, handles, count in
            guard let own = unsafe PipeTransport.own(context) else { return 1 }
            unsafe handles?.pointee.fd = own.pointee.ends.read
            unsafe count?.pointee = 1
            return 0
        }
    }

    deinit {
        unsafe close(memory.pointee.ends.read)
        unsafe close(memory.pointee.ends.write)
        unsafe memory.deallocate()
    }

    /// Sends a command like the library, asks for the response's length, then for the response.
    func exchange(_ command: [UInt8]) throws -> [UInt8] {
        let common = unsafe memory.pointee.common
        try check(unsafe common.transmit(context, command.count, command))
        var count = 0
        try check(unsafe common.receive(context, &count, nil, -1))
        var answer = [UInt8](repeating: 0, count: count)
        try check(unsafe common.receive(context, &count, &answer, -1))
        return answer
    }

    private func check(_ code: TSS2_RC) throws {
        guard code == 0 else { throw TPMError.response(ResponseCode(rawValue: code)) }
    }

    private static func own(_ context: OpaquePointer?) -> UnsafeMutablePointer<Context>? {
        unsafe context.map { unsafe UnsafeMutablePointer($0) }
    }

    private nonisolated(unsafe) static let head = UnsafeMutablePointer<UInt8>.allocate(capacity: 10)
}
