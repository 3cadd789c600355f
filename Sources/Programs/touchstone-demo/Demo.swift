import Foundation
import TouchstoneTesting

/// Touchstone's main use, end to end, on real parts and unattended.
///
/// Real: the system bus, polkitd, fprintd, libfprint and its matcher, pinentry, tpm2-tss, the daemon, the command line.
/// Instead of a sensor and a hand: libfprint's `virtual_image` driver, fed with synthetic fingers, and a script at a
/// pseudo-terminal; instead of the machine's TPM: swtpm, whose endorsement key a certificate authority of the demo
/// certifies as a manufacturer does. If `TOUCHSTONE_SERVER` names the server's program, an app signs in to it.
@main
struct Demo {
    private static let passcode = "hazel anvil quiver mosaic tundra"
    private static let finger = SyntheticFinger(1)
    private static let secondFinger = SyntheticFinger(2)
    private static let strangersFinger = SyntheticFinger(6)

    static func main() async {
        do {
            try await CommandLine.arguments.contains("--system") ? SystemDemo.run() : run()
        } catch {
            FileHandle.standardError.write(
                Data("error: \(error)\nhint: run Scripts/test to see which part fails\n".utf8)
            )
            exit(1)
        }
    }

    private static func run() async throws {
        var transcript = Transcript()
        transcript.step("Start a private system bus with polkitd, and fprintd with a virtual image sensor")
        let bus = try await PrivateBus.start(sensors: [.image])
        transcript.done("ready; real matcher, no finger enrolled")
        transcript.step("Start a software TPM 2.0, swtpm, with its manufacturer's certificate")
        let machine = try await Machine(bus, .certified(1))
        transcript.done("ready; it holds no keys")

        var scene = Scene(machine, bus: bus, transcript: transcript)
        try await scene.enrolAndSetUp(finger, passcode: passcode)
        try await scene.store()
        try await scene.readByFinger(finger)
        try await scene.refuse(strangersFinger, passcode: passcode)
        try await scene.sign(passcode: passcode)
        try await scene.serve(passcode: passcode)
        try await scene.survive(finger, passcode: passcode)
        try await scene.restart(finger, passcode: passcode)
        try await scene.moveDisk()
        if let server = ProcessInfo.processInfo.environment["TOUCHSTONE_SERVER"] {
            try await scene.signIn(to: server, finger, stranger: strangersFinger, passcode: passcode)
        }
        try await scene.changeFingers(secondFinger, passcode: passcode)
        try await scene.end()
        await bus.stop()
    }
}
