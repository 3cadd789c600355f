import FingerprintDriver
import MessageBus

/// Enrols and deletes fingers over fprintd, as the user's settings program does.
package struct Enroller: Sendable {
    /// Touches after which an unfinished enrolment is given up.
    private static let touchLimit = 30

    private let bus: PrivateBus
    private let sensor: PrivateBus.Sensor
    private let user: String

    /// Creates an enroller for a sensor of the bus; `user` names another user than this process's.
    package init(_ bus: PrivateBus, sensor: PrivateBus.Sensor = .image, user: String = "") {
        self.bus = bus
        self.sensor = sensor
        self.user = user
    }

    /// Enrols impressions of a finger on the image sensor.
    ///
    /// - Parameters:
    ///   - finger: the finger to enrol; impressions 0 and up are used.
    ///   - name: fprintd's name of the finger.
    /// - Returns: how many touches it took.
    /// - Throws: ``TestKitError/unexpected(_:)`` with fprintd's result when the enrolment did not complete.
    @discardableResult
    package func enrol(_ finger: SyntheticFinger, as name: String = "right-index-finger") async throws -> Int
    {
        try await enrol(as: name) { reader, touch in try await reader.touch(finger.impression(touch)) }
    }

    /// Enrols the print with the given name on a text sensor.
    @discardableResult
    package func enrol(print: String, as name: String = "right-index-finger") async throws -> Int {
        try await enrol(as: name) { reader, _ in try await reader.scan(print) }
    }

    /// Enrols a finger; `touch` puts it on the sensor once more.
    private func enrol(
        as name: String,
        touch: (VirtualReader, Int) async throws -> Void
    ) async throws -> Int {
        try await claimed { device in
            let peer = device.peer
            try await peer.subscribe(
                "type='signal',interface='\(Fprint.deviceInterface)',member='EnrollStatus',path='\(device.path)'"
            )
            try await device.call("EnrollStart", [.string(name)])
            let reader = VirtualReader(bus, sensor: sensor)
            var signals = peer.signals.makeAsyncIterator()
            for number in 0..<Self.touchLimit {
                try await touch(reader, number)
                let result = try await Self.nextEnrolStatus(&signals)
                switch result {
                case "enroll-completed":
                    try await device.call("EnrollStop")
                    return number + 1
                case "enroll-stage-passed": continue
                case _ where result.hasPrefix("enroll-retry") || result.hasPrefix("enroll-remove"): continue
                default:
                    try await device.call("EnrollStop")
                    throw TestKitError.unexpected(result)
                }
            }
            throw TestKitError.timedOut("enroll-completed")
        }
    }

    private static func nextEnrolStatus(
        _ signals: inout AsyncStream<BusPeer.Signal>.AsyncIterator
    ) async throws -> String {
        while let signal = await signals.next() {
            guard signal.member == "EnrollStatus" else { continue }
            return signal.arguments.first?.text ?? ""
        }
        throw TestKitError.unexpected("the bus is gone")
    }

    /// Deletes one finger.
    package func delete(_ name: String) async throws {
        try await claimed { try await $0.call("DeleteEnrolledFinger", [.string(name)]) }
    }

    /// Unplugs the sensor while no other client has claimed it.
    func unplug() async throws {
        let peer = try await BusPeer(address: bus.address)
        let device = try await FprintSensor.find(sensor, peer)
        try await claim(device)
        // The drivers read their sockets only while they want a finger.
        try await device.call("EnrollStart", [.string("left-little-finger")])
        try await VirtualReader(bus, sensor: sensor).unplug()
        // fprintd keeps a sensor as long as a client has claimed it.
        await peer.close()
        try await waitUntilGone()
    }

    /// Waits until fprintd no longer lists the sensor.
    func waitUntilGone() async throws {
        let peer = try await BusPeer(address: bus.address)
        try await Deadline.wait(for: "the sensor's end") {
            (try? await FprintSensor.find(sensor, peer)) == nil ? true : nil
        }
        await peer.close()
    }

    /// Claims the sensor for the duration of `body`.
    @discardableResult
    private func claimed<R: Sendable>(_ body: (FprintSensor) async throws -> R) async throws -> R {
        let peer = try await BusPeer(address: bus.address)
        let result: Result<R, any Error>
        do {
            let device = try await FprintSensor.find(sensor, peer)
            try await claim(device)
            result = .success(try await body(device))
            try await device.call("Release")
        } catch {
            // Closing the connection releases the sensor.
            await peer.close()
            throw error
        }
        await peer.close()
        return try result.get()
    }

    /// Claims the sensor, retrying while another client has it: the daemon releases it a moment after its reply.
    private func claim(_ device: FprintSensor) async throws {
        try await Deadline.wait(for: "the sensor") {
            do {
                try await device.call("Claim", [.string(user)])
                return true
            } catch BusError.remote(name: "\(Fprint.errorPrefix)AlreadyInUse", _) {
                return nil
            }
        }
    }
}
