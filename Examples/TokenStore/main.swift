// Stores a service's tokens in the keychain: save ACCOUNT (reads the token from standard input), show, list, remove.
import Foundation

let store = TokenStore(service: "com.example.tokens")
let arguments = Array(CommandLine.arguments.dropFirst())
do {
    switch (arguments.first, arguments.dropFirst().first) {
    case ("save", let account?):
        try store.save(Data((readLine() ?? "").utf8), account: account)
    case ("show", let account?):
        guard let token = try store.token(account: account) else {
            print("no token for \(account)")
            exit(1)
        }
        print(String(decoding: token, as: UTF8.self))
    case ("list", nil):
        for account in try store.accounts() { print(account) }
    case ("remove", let account?):
        try store.remove(account: account)
    default:
        print("usage: TokenStore save ACCOUNT | show ACCOUNT | list | remove ACCOUNT")
        exit(2)
    }
} catch {
    print("keychain: \(error.localizedDescription)")
    exit(1)
}
