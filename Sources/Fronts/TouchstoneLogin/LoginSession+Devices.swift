internal import Foundation
public import Touchstone
internal import WebAuthnModel

/// The devices of the session's account.
extension LoginSession {
    /// The devices that may sign in to the account.
    ///
    /// - Returns: the devices whose keys are accepted, in the server's order.
    /// - Throws: `TouchstoneError`.
    public func devices() async throws(TouchstoneError) -> [LoginDevice] {
        let answer = try await call("GET", "/v1/credentials")
        guard let credentials = answer["credentials"]?.array else { throw .badReply("credentials") }
        let own = try await client.store.find(account, .silent)?.device.id
        var devices: [LoginDevice] = []
        for credential in credentials {
            guard let members = credential.object, let kind = members["kind"]?.string else {
                throw .badReply("credentials")
            }
            guard kind == "device", members["suspended"]?.bool != true else { continue }
            devices.append(try LoginDevice(members, own: own))
        }
        return devices
    }

    /// Removes a device from the account, such as a lost one: its key and its sessions become invalid.
    ///
    /// - Parameter device: One of ``devices()``; for this device, its key and token are deleted here too.
    /// - Throws: `TouchstoneError`: `stepUpNeeded` if the user did not authenticate just before, `notFound` if the server
    ///   does not know the device.
    public func remove(_ device: LoginDevice) async throws(TouchstoneError) {
        guard Base64URL.decode(device.id) != nil else { throw TouchstoneError(.notFound) }
        var unknown: TouchstoneError?
        do throws(TouchstoneError) {
            _ = try await call("DELETE", "/v1/credentials/\(device.id)", isBound: true)
        } catch {
            guard error.code == .notFound else { throw error }
            unknown = error
        }
        if try await client.store.find(account, .silent)?.device.id == device.id {
            try await client.store.delete(account)
        } else if let unknown {
            throw unknown
        }
    }

    /// Removes, on the server, devices of this account that were deleted here.
    func removeForgottenDevices() async {
        guard let all = try? await client.store.forgottenDevices(),
            let kept = try? await client.store.find(account, .silent)?.device.id ?? ""
        else { return }
        for forgotten in all where forgotten.id != kept {
            // An earlier version knew an account by its name.
            guard forgotten.account.map({ $0 == account }) ?? (forgotten.user == user) else { continue }
            do throws(TouchstoneError) {
                _ = try await call("DELETE", "/v1/credentials/\(forgotten.id)", isBound: true)
            } catch {
                guard error.code == .notFound else { continue }
            }
            try? await client.store.noteRemoved(forgotten.id)
        }
    }
}

extension LoginDevice {
    fileprivate init(_ members: JSONObject, own: String?) throws(TouchstoneError) {
        guard let id = members["id"]?.string, Base64URL.decode(id)?.isEmpty == false else {
            throw .badReply("credentials: id")
        }
        guard let label = members["label"]?.string else { throw .badReply("credentials: label") }
        self.init(
            id: id,
            label: label,
            lastUsed: Self.date(members["lastUsedAt"]),
            acceptedUntil: Self.date(members["acceptedUntil"]),
            isThisDevice: id == own
        )
    }

    private static func date(_ value: JSONValue?) -> Date? {
        value?.integer.map { Date(timeIntervalSince1970: Double($0)) }
    }
}
