import CTSS2
import Dispatch
import SecretMemory
import Threads

/// A transport that is being opened, on a thread of its own.
///
/// The library opens a transport without a time limit: a simulator that is stopped accepts the connection, and what it is asked
/// first stays unanswered. Who waited in vain waits for the same opening the next time, so that a silent chip keeps one thread.
@safe
final class TransportOpening: @unchecked Sendable {  // what the thread writes is read after it signalled
    /// A transport is loaded as a library of that name: only these are allowed.
    private static let names: Set = ["device", "tabrmd", "swtpm", "mssim"]

    private let end = DispatchSemaphore(value: 0)
    /// `TSS2_TCTI_CONTEXT *`; nil once it was taken.
    private var transport: OpaquePointer?
    private var code: TSS2_RC = 0

    /// Begins to open a transport.
    ///
    /// - Throws: ``TPMError/unknownTransport``; ``TPMError/silent`` if no thread could be started.
    init(_ configuration: String) throws(TPMError) {
        guard Self.names.contains(String(configuration.prefix { $0 != ":" })) else { throw .unknownTransport }
        let result = BlockingThread.start { [self] in
            unsafe code = Tss2_TctiLdr_Initialize(configuration, &transport)
            end.signal()
        }
        guard result == 0 else { throw .silent }
    }

    deinit { unsafe Tss2_TctiLdr_Finalize(&transport) }

    /// Waits until the transport is open, and hands it over.
    ///
    /// - Returns: the transport, which the caller finalizes.
    /// - Throws: ``TPMError/silent`` after ``AnswerTime/limit``: it can be called again; the library's error.
    func wait() throws(TPMError) -> OpaquePointer? {
        guard end.wait(timeout: .now() + .milliseconds(Int(AnswerTime.limit))) == .success else {
            throw .silent
        }
        guard code == 0 else { throw .response(ResponseCode(rawValue: code)) }
        defer { unsafe transport = nil }
        return unsafe transport
    }
}
