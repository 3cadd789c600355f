// Signs in to a touchstone-server with a key of this device. Commands: enrol URL USER (reads the password from standard
// input), renew, sign-in, replay.
import Foundation
import WebAuthnDevice

let arguments = Array(CommandLine.arguments.dropFirst())
do {
    switch arguments.first {
    case "enrol" where arguments.count == 3:
        _ = try Device.enrol(url: arguments[1], user: arguments[2], password: readLine() ?? "")
    case "renew" where arguments.count == 1: try Device.kept().renew()
    case "sign-in" where arguments.count == 1: try Device.kept().signIn()
    case "replay" where arguments.count == 1: try Device.kept().replay()
    default:
        print("usage: DeviceSignIn enrol URL USER | renew | sign-in | replay")
        exit(2)
    }
} catch let error as LocalizedError {
    complain(error.localizedDescription)
} catch {
    complain("\(error)")
}

func complain(_ words: String) -> Never {
    FileHandle.standardError.write(
        Data("error: \(words)\nhint: DeviceSignIn enrol makes this device one that signs in\n".utf8)
    )
    exit(1)
}
