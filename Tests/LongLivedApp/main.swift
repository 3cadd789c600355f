// A long-running app: reads requests from standard input, one per line, and answers each with a line.
//
//   add NAME SECRET, get NAME      the answer is the call's status, then the secret or the reason
//
// Scripts/test-machine keeps one running during an upgrade of the package and an outage of the broker.
import Foundation
import Security

let service = "com.example.long-lived"

func query(_ name: String) -> [String: Any] {
    [
        kSecClass as String: kSecClassGenericPassword, kSecAttrService as String: service,
        kSecAttrAccount as String: name,
    ]
}

func reason(_ status: OSStatus) -> String { SecCopyErrorMessageString(status, nil) as String? ?? "?" }

func answer(_ words: [String]) -> String {
    switch (words.first, words.count) {
    case ("add", 3):
        var item = query(words[1])
        item[kSecValueData as String] = Data(words[2].utf8)
        let status = SecItemAdd(item as CFDictionary, nil)
        return "\(status) \(reason(status))"
    case ("get", 2):
        var wanted = query(words[1])
        wanted[kSecReturnData as String] = true
        var result: CFTypeRef?
        let status = SecItemCopyMatching(wanted as CFDictionary, &result)
        guard status == errSecSuccess, let secret = result as? Data else {
            return "\(status) \(reason(status))"
        }
        return "\(status) \(String(decoding: secret, as: UTF8.self))"
    default:
        return "usage: add NAME SECRET | get NAME"
    }
}

while let line = readLine() {
    print(answer(line.split(separator: " ").map(String.init)))
    // Flushed, so that a reader of a pipe gets the line at once.
    fflush(nil)
}
