import FingerprintDriver
import Glibc
import KeychainModel
import SecretMemory

/// Touches one of libfprint's virtual sensors.
///
/// Each touch waits until the sensor wants a finger: an earlier one would count for the next verification.
package final class VirtualReader: Sendable {
    /// Why a sensor asks for another touch (`FpDeviceRetry`).
    package enum Retry: Int32, Sendable, CaseIterable {
        /// `verify-retry-scan`
        case general = 0
        /// `verify-swipe-too-short`
        case tooShort = 1
        /// `verify-finger-not-centered`
        case centerFinger = 2
        /// `verify-remove-and-retry`
        case removeFinger = 3
    }

    /// Why a sensor fails (`FpDeviceError`); fprintd reports all but those named here as `verify-unknown-error`.
    package enum Failure: Int32, Sendable, CaseIterable {
        /// `verify-unknown-error`
        case general = 0
        /// fprintd reports it as `verify-disconnected`.
        case protocolError = 5
        /// fprintd reports it as `verify-no-match`.
        case dataNotFound = 7
    }

    private let bus: PrivateBus
    private let sensor: PrivateBus.Sensor
    private let connection = Guarded<Int32>(-1)

    /// Creates a finger for a sensor of the bus.
    package init(_ bus: PrivateBus, sensor: PrivateBus.Sensor = .image) {
        self.bus = bus
        self.sensor = sensor
    }

    deinit { disconnect() }

    // MARK: The image sensor

    /// Touches the image sensor once it is armed.
    package func touch(_ picture: FingerPicture) async throws {
        try await waitUntilWanted()
        try put(picture)
    }

    /// Touches an image sensor that is already armed.
    func put(_ picture: FingerPicture) throws {
        try send([Int32(picture.width), Int32(picture.height)], picture.pixels)
    }

    /// Touches a text sensor that is already armed.
    func put(print name: String) throws { try command("SCAN \(name)") }

    /// Makes a touch that the sensor cannot use.
    package func retry(_ reason: Retry) async throws {
        try await waitUntilWanted()
        switch sensor {
        case .image: try send([-1, reason.rawValue])
        case .text, .storage: try command("RETRY \(reason.rawValue)")
        }
    }

    /// Makes the sensor fail.
    package func fail(_ reason: Failure) async throws {
        try await waitUntilWanted()
        switch sensor {
        case .image: try send([-2, reason.rawValue])
        case .text, .storage: try command("ERROR \(reason.rawValue)")
        }
    }

    /// Unplugs the sensor once it is armed.
    package func unplug() async throws {
        try await waitUntilWanted()
        try pullOut()
    }

    /// Unplugs a sensor that is claimed.
    func pullOut() throws {
        switch sensor {
        case .image: try send([-5, 0])
        case .text, .storage: try command("UNPLUG")
        }
    }

    // MARK: The text sensors

    /// Touches a text sensor with the print of the given name.
    package func scan(_ name: String) async throws {
        try await Deadline.wait(for: "a sensor that takes a print") { () -> Bool? in
            try await waitUntilWanted()
            do {
                try put(print: name)
                return true
            } catch TestKitError.system(_, let errno) where errno == ECONNREFUSED || errno == ENOENT {
                // It was still armed for the request before, and released meanwhile.
                return nil
            }
        }
    }

    // MARK: Sockets

    /// Waits until the sensor is claimed and armed.
    package func waitUntilWanted(atMost limit: Duration = Deadline.patience) async throws {
        let socket = bus.socket(of: sensor)
        let peer = try await BusPeer(address: bus.address)
        do {
            let sensor = try await FprintSensor.find(self.sensor, peer)
            try await Deadline.wait(for: "an armed sensor", atMost: limit) { () -> Bool? in
                let isWanted = try await sensor.isFingerNeeded()
                guard isWanted, unsafe access(socket, F_OK) == 0 else { return nil }
                return true
            }
        } catch {
            await peer.close()
            throw error
        }
        await peer.close()
    }

    private func send(_ header: [Int32], _ pixels: [UInt8] = []) throws {
        let octets = header.flatMap { unsafe withUnsafeBytes(of: $0) { unsafe Array($0) } } + pixels
        try connection.withLock { connection in
            if connection >= 0, Self.isClosed(connection) {
                close(connection)
                connection = -1
            }
            if connection < 0 { connection = try UnixSocket.connect(to: bus.socket(of: sensor)) }
            try Self.write(octets, to: connection)
        }
    }

    /// Sends one command on its own connection; the driver closes it after reading the line.
    private func command(_ line: String) throws {
        let connection = try UnixSocket.connect(to: bus.socket(of: sensor))
        defer { close(connection) }
        try Self.write(Array(line.utf8), to: connection)
        shutdown(connection, CInt(SHUT_WR))
        var answer: UInt8 = 0
        while unsafe read(connection, &answer, 1) > 0 {}
    }

    private func disconnect() {
        connection.withLock { connection in
            if connection >= 0 { close(connection) }
            connection = -1
        }
    }

    private static func isClosed(_ connection: Int32) -> Bool {
        var octet: UInt8 = 0
        return unsafe recv(connection, &octet, 1, Int32(MSG_PEEK | MSG_DONTWAIT)) == 0
    }

    private static func write(_ octets: [UInt8], to descriptor: Int32) throws {
        var sent = 0
        while sent < octets.count {
            let rest = Array(octets[sent...])
            let count = SystemCall.uninterrupted {
                unsafe Glibc.send(descriptor, rest, rest.count, Int32(MSG_NOSIGNAL))
            }
            guard count > 0 else { throw TestKitError.system("send", errno: errno) }
            sent += count
        }
    }
}
