import FingerprintDriver
import KeychainModel
import Testing
import TouchstoneTesting

@Suite("The set of enrolled fingers")
struct EnrolmentTests {
    @Test("adding, replacing or deleting a finger changes the set")
    func everyChangeIsSeen() async throws {
        let bus = try await PrivateBus.start(sensors: [.storage])
        let enroller = Enroller(bus, sensor: .storage)
        let reader = FprintReader(busAddress: bus.busAddress, templateDirectory: bus.templateDirectory)
        let empty = try await reader.enrolment()
        #expect(empty.isEmpty && empty.binding == .templates && empty.completions == 0)
        #expect(empty.device == PrivateBus.Sensor.storage.deviceName)

        try await enroller.enrol(print: "alpha", as: "right-index-finger")
        let one = try await reader.enrolment()
        #expect(one.fingers == ["right-index-finger"] && one.completions == 1)
        #expect(one.templateDigest != empty.templateDigest)
        #expect(try await reader.enrolment() == one)

        try await enroller.enrol(print: "beta", as: "left-thumb")
        let two = try await reader.enrolment()
        #expect(two.fingers == ["left-thumb", "right-index-finger"] && two.completions == 2)
        #expect(two.templateDigest != one.templateDigest)

        try await enroller.delete("left-thumb")
        let deleted = try await reader.enrolment()
        #expect(deleted == one.counting(2))

        try await enroller.enrol(print: "gamma", as: "right-index-finger")
        let replaced = try await reader.enrolment()
        #expect(replaced.fingers == one.fingers)
        #expect(replaced.templateDigest != one.templateDigest)
        await bus.stop()
    }

    @Test("without template files the set is compared by finger names, and reports that")
    func namesOnly() async throws {
        let bus = try await PrivateBus.start(sensors: [.storage])
        try await Enroller(bus, sensor: .storage).enrol(print: "alpha")
        for directory in [nil, "/nonexistent", bus.directory.path] {
            let reader = FprintReader(busAddress: bus.busAddress, templateDirectory: directory)
            let enrolment = try await reader.enrolment()
            #expect(enrolment.templateDigest == nil && enrolment.binding == .names)
            #expect(enrolment.fingers == ["right-index-finger"])
        }
        await bus.stop()
    }

    @Test("listeners are notified of a completed enrolment, and of fprintd's start and exit")
    func changes() async throws {
        let bus = try await PrivateBus.start(sensors: [.storage])
        let reader = FprintReader(busAddress: bus.busAddress, templateDirectory: nil)
        var changes = await reader.changes().makeAsyncIterator()
        try await Enroller(bus, sensor: .storage).enrol(print: "alpha")
        #expect(await changes.next() == .enrolment)
        try await bus.killFprintd()
        #expect(await changes.next() == .service)
        try await bus.startFprintd()
        #expect(await changes.next() == .service)
        try await Enroller(bus, sensor: .storage).enrol(print: "beta", as: "left-thumb")
        #expect(await changes.next() == .enrolment)
        #expect(try await reader.enrolment().completions == 2)
        await bus.stop()
    }

    @Test("of several sensors the one with an enrolled finger is used, in any order")
    func severalSensors() async throws {
        let bus = try await PrivateBus.start(sensors: [.image, .text, .storage])
        let reader = FprintReader(busAddress: bus.busAddress, templateDirectory: nil)
        #expect(try await reader.enrolment().isEmpty)
        try await Enroller(bus, sensor: .storage).enrol(print: "alpha")
        #expect(try await reader.enrolment().device == PrivateBus.Sensor.storage.deviceName)
        try await Enroller(bus, sensor: .text).enrol(print: "alpha")
        // Sorted by name: "Virtual device for debugging" is before "Virtual device with storage …".
        #expect(try await reader.enrolment().device == PrivateBus.Sensor.text.deviceName)
        await bus.stop()
    }
}

extension Enrolment {
    /// The same set with another count of completed enrolments.
    fileprivate func counting(_ completions: UInt64) -> Enrolment {
        Enrolment(
            device: device,
            fingers: fingers,
            templateDigest: templateDigest,
            completions: completions
        )
    }
}
