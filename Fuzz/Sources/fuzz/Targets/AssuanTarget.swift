import Glibc
import KeychainModel
import SecretMemory

@testable import PinentryDriver

/// A pinentry program's output: single lines, escaped data, and a whole conversation on a socket.
enum AssuanTarget: FuzzTarget {
    static let name = "assuan"

    static func run(_ input: Span<UInt8>) {
        runLine(input)
        runEscapes(input)
        runConversation(input)
    }

    private static func runLine(_ line: Span<UInt8>) {
        switch AssuanLine.kind(of: line) {
        case .status(let keyword):
            require(keyword.utf8.allSatisfy { (0x21...0x7E).contains($0) }, "a keyword is ASCII")
        case .error(let code): _ = code.meaning
        case .ok, .data, .comment, .inquire, .end, .unknown: break
        }
    }

    private static func runEscapes(_ payload: Span<UInt8>) {
        var decoded = SecretBuffer()
        if AssuanLine.decode(payload, into: &decoded) {
            require(decoded.count <= payload.count, "escapes are longer")
        }
        var line = SecretBuffer()
        AssuanLine.escape(SecretBytes(copying: payload), into: &line)
        var again = SecretBuffer()
        let isDecoded = line.withOctets { line in
            for index in line.indices {
                require(line[index] != UInt8(ascii: "\n") && line[index] != UInt8(ascii: "\r"), "one line")
            }
            return AssuanLine.decode(line, into: &again)
        }
        require(isDecoded, "what was escaped is decoded")
        again.withOctets { require($0.array == payload.array, "escaping loses nothing") }
    }

    private static func runConversation(_ input: Span<UInt8>) {
        let socket = SocketInput(input.array)
        var connection = AssuanConnection(adopting: socket.takeReceiver(), interruptions: .init(cancel: -1))
        let deadline = ContinuousClock.now + .seconds(60)
        do throws(ExchangeFailure) {
            while true {
                let answer = try connection.answer(until: deadline)
                require(
                    answer.data.count <= AssuanConnection.largestAnswerByteCount,
                    "an answer within its limit"
                )
                require(answer.error == nil || answer.data.count == 0, "an error brings no data")
            }
        } catch {
            switch error {
            case .closed, .malformed: _ = error.promptError
            default: fatalError("\(error) of a program that only talked")
            }
        }
    }

    static func seeds() -> [[UInt8]] {
        let lines = [
            "OK", "OK Pleased to meet you", "ERR 83886179 Operation cancelled <Pinentry>", "ERR 83886194",
            "ERR", "ERR x",
            "ERR 4294967295", "ERR 4294967296", "D 1234", "D pass%25word", "D %0A%0d", "D %", "D %4", "D %zz",
            "D", "D ",
            "S PASSWORD_FROM_CACHE", "S PIN_REPEATED", "S", "S ", "# comment", "", "INQUIRE QUALITY abc",
            "END", "end",
            "ok", "OKAY", " OK", "\u{E4}", "D \u{E4}\u{F6}", "S BUTTON_INFO close", "D a\r", "OK\r",
        ]
        let conversations = [
            "OK Pleased to meet you\nOK\nD curses\nOK\n", "OK\nD 12\nD 34\nOK\nERR 83886179 x\n",
            "OK\nS PIN_REPEATED\nD x\nOK\n", "# hello\n\nOK\r\nD a%0Ab\r\nOK\r\n", "OK\nINQUIRE x\nEND\nOK\n",
            "OK\nERR 83918950 no tty\n", "D " + String(repeating: "x", count: 998) + "\nOK\n",
            String(repeating: "D " + String(repeating: "y", count: 990) + "\n", count: 5) + "OK\n",
            "D " + String(repeating: "%41", count: 332) + "\nOK\n",
            String(repeating: "#", count: 1003) + "\n",
        ]
        return (lines + lines.map { $0 + "\n" } + conversations).map { Array($0.utf8) }
            + [[0xFF, 0x0A], [0x44, 0x20, 0xFF, 0, 0x0A, 0x4F, 0x4B, 0x0A]]
    }
}
