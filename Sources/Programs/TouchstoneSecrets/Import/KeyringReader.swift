import KeychainModel
import MessageBus
import SecretMemory
import SecretServiceModel

/// A secret of another keyring.
struct ForeignSecret: Sendable {
    let path: String
    let content: SecretItemContent
}

/// Reads the keyring that serves the session bus now, as its client: nothing of it is changed.
actor KeyringReader {
    /// A collection of that keyring.
    struct Collection: Sendable {
        let path: String
        let label: String
        let isDefault: Bool
        let items: [String]
    }

    /// How many secrets are asked for at a time.
    static let secretsAtOnce = 64
    /// How long a prompt of the other keyring may stay.
    private static let promptTime = Duration.seconds(180)
    private static let callTimeout = Duration.seconds(60)

    private let executor = BusExecutor()
    nonisolated var unownedExecutor: UnownedSerialExecutor {
        unsafe executor.asUnownedSerialExecutor()
    }

    private var bus: Bus?
    private var session: (path: String, transfer: TransferSession)?
    private var ends: [String: Bool] = [:]
    private var waiting: [String: CheckedContinuation<Bool, Never>] = [:]

    /// Connects to the keyring of a bus.
    ///
    /// - Returns: the name and number of its process, if the bus tells.
    /// - Throws: ``SecretsFailure``, also if this program serves there itself.
    func open(_ address: String) async throws(SecretsFailure) -> String? {
        do throws(BusError) {
            let bus = try Bus(
                address: address,
                executor: executor,
                callTimeout: Self.callTimeout,
                onMessage: { [weak self] message, _ in
                    guard message.isSignal, message.member == "Completed", let path = message.path,
                        let isDismissed = (try? message.arguments())?.first?.truth
                    else { return false }
                    self?.assumeIsolated { $0.note(path, isDismissed) }
                    return false
                },
                onClosed: {}
            )
            self.bus = bus
            let isOwned = try await bus.call(.bus, "NameHasOwner", [.string(SecretNames.bus)])
            if isOwned.first?.truth != true {
                // The bus starts the keyring that its service file names.
                _ = try await bus.call(.bus, "StartServiceByName", [.string(SecretNames.bus), .uint32(0)])
            }
            let reply = try await bus.call(.bus, NameOwner.method, [.string(SecretNames.bus)])
            let owner = NameOwner.program(in: reply)
            if owner?.hasSuffix(" touchstone-secr") == true { throw BusError.malformed }
            let own = KeyAgreement()
            let opened = try await bus.call(
                Self.target(SecretNames.root, SecretNames.service),
                "OpenSession",
                [
                    .string(TransferSession.agreement),
                    .variant(.octets(BusOctets(SecretBytes(copying: own.publicValue)))),
                ]
            )
            guard opened.count == 2, let theirs = opened[0].content?.octets, let path = opened[1].text,
                let transfer = try? TransferSession(own, with: theirs.plain)
            else { throw BusError.malformed }
            session = (path, transfer)
            return owner
        } catch .malformed {
            throw SecretsFailure(
                message: "the keyring on the session bus is this one, or speaks another protocol",
                hint: "import while the other keyring serves: touchstone secrets disable, and log in again"
            )
        } catch .remote(let name, let text) {
            throw SecretsFailure(
                message: "there is no keyring on the session bus: \(text.isEmpty ? name : text)",
                hint: "log in to the desktop whose keyring it is"
            )
        } catch {
            throw .noBus(address, error)
        }
    }

    private static func target(_ path: String, _ interface: String) -> Bus.Target {
        Bus.Target(SecretNames.bus, path, interface)
    }

    private func note(_ path: String, _ isDismissed: Bool) {
        if let waiter = waiting.removeValue(forKey: path) {
            waiter.resume(returning: isDismissed)
        } else {
            ends[path] = isDismissed
        }
    }

    private func call(
        _ path: String,
        _ interface: String,
        _ method: String,
        _ arguments: [BusValue]
    ) async throws(BusError) -> [BusValue] {
        guard let bus else { throw .malformed }
        return try await bus.call(Self.target(path, interface), method, arguments)
    }

    private func properties(_ path: String, _ interface: String) async throws(BusError) -> BusValue {
        let reply = try await call(path, SecretNames.properties, "GetAll", [.string(interface)])
        guard let properties = reply.first else { throw .malformed }
        return properties
    }

    // MARK: Collections and items

    /// The collections, unlocked; the one in memory is left out.
    ///
    /// - Throws: ``SecretsFailure``, also if the keyring's own prompt was dismissed.
    func collections() async throws(SecretsFailure) -> [Collection] {
        do throws(BusError) {
            let service = try await properties(SecretNames.root, SecretNames.service)
            let alias = try await call(
                SecretNames.root,
                SecretNames.service,
                "ReadAlias",
                [.string("default")]
            ).first?.text
            let session = SecretObject.collection(SecretNames.sessionCollection).path
            let paths = (service.property("Collections")?.texts ?? []).filter { $0 != session }
            guard try await unlock(paths) else {
                throw BusError.remote(name: "dismissed", message: "")
            }
            var collections: [Collection] = []
            for path in paths {
                let properties = try await properties(path, SecretNames.collection)
                collections.append(
                    Collection(
                        path: path,
                        label: properties.property("Label")?.text ?? "",
                        isDefault: path == alias,
                        items: properties.property("Items")?.texts ?? []
                    )
                )
            }
            return collections
        } catch .remote(name: "dismissed", _) {
            throw SecretsFailure(
                message: "the other keyring was not unlocked",
                hint: "run the command again and type that keyring's password",
                status: 4
            )
        } catch {
            throw Self.failure(error)
        }
    }

    /// Unlocks objects by the keyring's own prompt; false if that was dismissed.
    private func unlock(_ paths: [String]) async throws(BusError) -> Bool {
        let reply = try await call(SecretNames.root, SecretNames.service, "Unlock", [.paths(paths)])
        guard reply.count == 2, let prompt = reply[1].text, prompt != "/" else { return true }
        _ = try await call(prompt, SecretNames.prompt, "Prompt", [.string("")])
        if let isDismissed = ends.removeValue(forKey: prompt) { return !isDismissed }
        Task { [weak self] in
            try? await Task.sleep(for: Self.promptTime)
            await self?.note(prompt, true)
        }
        return await !withCheckedContinuation { waiting[prompt] = $0 }
    }

    /// What an item of that keyring has beside its secret.
    func describe(_ path: String) async throws(SecretsFailure) -> ForeignSecret {
        do throws(BusError) {
            let properties = try await properties(path, SecretNames.item)
            let content = SecretItemContent(
                label: properties.property("Label")?.text ?? "",
                attributes: properties.property("Attributes")?.textPairs ?? [:]
            )
            return ForeignSecret(path: path, content: content)
        } catch {
            throw Self.failure(error)
        }
    }

    /// The secrets of items, with their content types, by path; those that the keyring does not give are left out.
    func secrets(
        of paths: [String]
    ) async throws(SecretsFailure) -> [String: (secret: HeldSecret, type: String)] {
        guard let session else { return [:] }
        do throws(BusError) {
            if try await !unlock(paths) { return [:] }
            let reply = try await call(
                SecretNames.root,
                SecretNames.service,
                "GetSecrets",
                [.paths(paths), .objectPath(session.path)]
            )
            guard case .array(of: "{o(oayays)}", let entries)? = reply.first else { throw .malformed }
            var found: [String: (secret: HeldSecret, type: String)] = [:]
            for case .entry(.objectPath(let path), .structure(let members)) in entries {
                guard members.count == 4, let parameters = members[1].octets, let value = members[2].octets,
                    let secret = try? session.transfer.open(parameters: parameters, value: value)
                else { continue }
                found[path] = (HeldSecret(secret), members[3].text ?? "text/plain")
            }
            return found
        } catch {
            throw Self.failure(error)
        }
    }

    /// Leaves the bus.
    func close() {
        bus?.close()
        bus = nil
    }

    private static func failure(_ error: BusError) -> SecretsFailure {
        let reason =
            switch error {
            case .remote(let name, let text): text.isEmpty ? name : text
            case .system(let number): SystemError.name(of: number)
            case .malformed: "a reply that is malformed"
            }
        return SecretsFailure(
            message: "the other keyring does not answer: \(reason)",
            hint: "run the command again; what was imported stays"
        )
    }
}
