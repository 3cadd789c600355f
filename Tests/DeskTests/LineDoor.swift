import CBOR
import Desk
import Glibc
import KeychainModel
import SecretMemory
import Threads

/// A door with two requests of one line each, over a pipe: the minimum that a protocol needs beside the desk.
///
/// ```
/// unlock                  1 ok
/// get SERVICE ACCOUNT     2 item TEXT
///                         3 error STATUS CAUSE
/// ```
/// An answer begins with the number of its line. Closing the pipe cancels pending requests.
struct LineDoor: Sendable {
    let visit: Visit
    let input: CInt
    let output: CInt

    /// Serves until the other end of `input` is closed, then closes both.
    func serve() async {
        await withTaskGroup(of: Void.self) { group in
            var number: UInt64 = 0
            for await line in Self.lines(of: input) {
                number += 1
                group.addTask { [number] in
                    let answer = Array("\(number) \(await reply(to: line, request: number))\n".utf8)
                    _ = write(output, answer, answer.count)
                }
            }
            group.cancelAll()
        }
        visit.end()
        close(output)
    }

    private func reply(to line: String, request: UInt64) async -> String {
        let words = line.split(separator: " ").map(String.init)
        let prompt = PromptFields(origin: PromptOrigin(terminal: "/dev/pts/0"), reason: "answer a line")
        do throws(KeychainError) {
            switch (words.first, words.count) {
            case ("unlock", 1):
                try await visit.unlock(prompt)
                return "ok"
            case ("get", 3):
                let query = ItemQuery(
                    itemClass: .genericPassword,
                    attributes: [.service: .string(words[1]), .account: .string(words[2])],
                    returns: .data
                )
                let items = Guarded<[String]>([])
                _ = try await visit.copy(CopyItems(query: query, prompt: prompt), request: request) {
                    page,
                    _ in
                    items.withLock { $0 += [Self.text(of: page)] }
                    return true
                }
                return items.withLock { "item \($0.joined())" }
            default:
                throw KeychainError(.badReq)
            }
        } catch {
            return "error \(error.status.rawValue) \(error.cause?.code ?? "-")"
        }
    }

    /// The data of a page's only item.
    static func text(of page: borrowing EncodedItems) -> String {
        page.octets.withOctets { octets in
            let data = try? CBORReader.read(octets) { reader throws(CBORError) in
                _ = try reader.readMapHead()
                _ = try reader.readUnsigned()
                return try reader.readBytes()
            }
            return String(decoding: data ?? [], as: UTF8.self)
        }
    }

    private static func lines(of input: CInt) -> AsyncStream<String> {
        AsyncStream { continuation in
            _ = BlockingThread.start {
                var line: [UInt8] = []
                var octet: UInt8 = 0
                while read(input, &octet, 1) == 1 {
                    guard octet == UInt8(ascii: "\n") else {
                        line.append(octet)
                        continue
                    }
                    continuation.yield(String(decoding: line, as: UTF8.self))
                    line = []
                }
                close(input)
                continuation.finish()
            }
        }
    }
}
