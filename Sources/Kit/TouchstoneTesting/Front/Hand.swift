import FingerprintDriver
import Glibc

/// Touches the sensor of a bus for as long as a prompt is open.
struct Hand: Sendable {
    private let bus: PrivateBus
    private let sensor: PrivateBus.Sensor
    private let reader: VirtualReader

    init(_ bus: PrivateBus, _ sensor: PrivateBus.Sensor) {
        self.bus = bus
        self.sensor = sensor
        reader = VirtualReader(bus, sensor: sensor)
    }

    /// Touches each time the sensor wants a finger, while `isOpen`.
    ///
    /// Its pauses block the thread, so it needs a thread of its own: see ``PromptedPerson``.
    func touch(while isOpen: @Sendable () -> Bool, _ next: @Sendable () -> (TestFinger, Int)) async {
        guard let peer = try? await BusPeer(address: bus.address) else { return }
        var isUp = true
        while isOpen() {
            let isWanted = (try? await FprintSensor.find(sensor, peer).isFingerNeeded()) ?? false
            if isWanted, isUp, unsafe access(bus.socket(of: sensor), F_OK) == 0 {
                let (finger, number) = next()
                try? put(finger, number)
                isUp = false
            } else if !isWanted {
                isUp = true
            }
            _ = poll(nil, 0, 20)
        }
        await peer.close()
    }

    private func put(_ finger: TestFinger, _ number: Int) throws {
        switch sensor {
        case .image: try reader.put(SyntheticFinger(finger.number).impression(number))
        case .text, .storage: try reader.put(print: finger.print)
        }
    }
}

extension TestFinger {
    /// The finger's name on a text sensor.
    var print: String { "finger-\(number)" }
}
