internal import Foundation
internal import KeychainModel
internal import Touchstone
internal import WebAuthnModel

extension Touchstone.Assurance {
    /// The facts that are signed with a use of the device's key, as the member `touchstone` of the client data.
    ///
    /// The counter is not in it: it is in the authenticator data, which the same signature covers.
    ///
    /// - Parameters:
    ///   - enrolment: the app's own digest of the enrolled fingers; nil if it is unknown.
    ///   - status: the daemon's status at this use.
    ///   - consent: what the user consented to, at a registration.
    /// - Returns: the member.
    func statement(
        _ enrolment: [UInt8]?,
        _ status: StatusReply,
        _ consent: JSONValue? = nil
    ) -> JSONValue {
        let reader = status.authentication.sensor.map { name in
            JSONValue(members: [
                "name": .string(name.statable),
                "grade": .string("\(status.authentication.sensorFacts.grade)"),
            ])
        }
        let tpm = status.chip.map { chip in
            JSONValue(members: [
                "manufacturer": .string(chip.manufacturer.statable), "model": .string(chip.model.statable),
                "firmware": .string(chip.firmware.statable),
            ])
        }
        return JSONValue(members: [
            "level": .string("\(level)"),
            "facts": .array(facts.map(\.rawValue).sorted().map { .string($0) }),
            "method": method.map { .string($0.rawValue) },
            "hardware": .string(hardware.name),
            // Null says that there is none, which is not the same as saying nothing.
            "enrolment": enrolment.map { JSONValue(base64URL: $0) } ?? .null,
            "reader": reader ?? .null,
            "tpm": tpm ?? .null,
            "consent": consent,
        ])
    }
}

extension PromptText {
    /// What the user consented to with this prompt, and when.
    ///
    /// - Parameters:
    ///   - label: the user's name for the device.
    ///   - rule: what each use of the device's key requires.
    ///   - server: the server's address.
    ///   - language: the locale of the prompt's own words; nil for English.
    /// - Returns: the member `consent` of the statement.
    func consent(label: String, rule: AccessRule, server: String, language: String?) -> JSONValue {
        let texts = [title, subtitle, reason].compactMap(\.self) + items
        return JSONValue(members: [
            "text": .array(texts.map { .string($0) }),
            "label": .string(label),
            "rule": .string(rule.description),
            "server": .string(server),
            "language": language.map { .string($0.statable) },
            "time": .integer(Int64(Date().timeIntervalSince1970)),
        ])
    }
}

extension HardwareLevel {
    /// Its name for a server.
    var name: String { "\(self)" }
}

extension String {
    /// At most 64 characters without any that could break a log's lines: names are of drivers and chips.
    fileprivate var statable: String {
        String(String.UnicodeScalarView(loggable.unicodeScalars.prefix(64)))
    }
}
