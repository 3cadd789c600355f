// Prints which methods a prompt could use now, and again after each change, as a settings page does; runs until killed.
import Foundation
import Touchstone

/// One line of the page.
func line(_ name: String, _ capability: Capability) -> String {
    var line = "\(name): "
    if let sensor = capability.sensor {
        line +=
            "\(sensor.name), \(sensor.enrolledCount.map { "\($0) enrolled" } ?? "enrolled fingers not told"); "
    }
    guard let obstacle = capability.obstacle else { return line + "ready" }
    return line + "\(obstacle.message()) \(obstacle.advice())"
}

do {
    print(line("passcode", try await Keychain.current.capability(for: .passcode)))
    for await capability in Keychain.current.capabilities() {
        print(line("finger", capability))
        // So that a reader of a pipe gets the line immediately.
        fflush(nil)
    }
} catch {
    print("\(error.message()) \(error.advice())")
    exit(1)
}
