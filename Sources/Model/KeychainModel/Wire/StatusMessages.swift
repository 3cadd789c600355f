public import CBOR

/// The complete state, for `status`.
public struct StatusReply: WireBody, Sendable, Equatable {
    /// The state of the keybag.
    public var keybag: KeybagState
    /// The strength of its protection.
    public var assurance: Assurance
    /// The reasons, in words.
    public var assuranceReasons: [String]
    /// The state of attempts, lockouts and the sensor.
    public var authentication: AuthenticationStatus
    /// Why a prompt could not be shown for this request; nil if it could.
    public var promptFault: String?
    /// The daemon's version.
    public var daemonVersion: String
    /// The daemon's pid.
    public var daemonProcess: Int64
    /// The known faults of the items, in words.
    public var storeFaults: [String]
    /// The cause that prevents the use of items or their completeness; nil if none is known.
    public var itemsFault: DriverCause?
    /// Why system mode's broker does not reply; nil if it does, and in per-user mode.
    public var brokerFault: DriverCause?
    /// What is going to lock the keychain.
    public var locking: LockingStatus
    /// The chip that the keybag is sealed to; nil without one, and while it does not answer.
    public var chip: ChipVersion?

    /// Reports the state.
    public init(
        keybag: KeybagState,
        assurance: Assurance,
        assuranceReasons: [String],
        authentication: AuthenticationStatus,
        promptFault: String?,
        daemonVersion: String,
        daemonProcess: Int64,
        storeFaults: [String] = [],
        itemsFault: DriverCause? = nil,
        brokerFault: DriverCause? = nil,
        locking: LockingStatus = LockingStatus(),
        chip: ChipVersion? = nil
    ) {
        self.keybag = keybag
        self.assurance = assurance
        self.assuranceReasons = assuranceReasons
        self.authentication = authentication
        self.promptFault = promptFault
        self.daemonVersion = daemonVersion
        self.daemonProcess = daemonProcess
        self.storeFaults = storeFaults
        self.itemsFault = itemsFault
        self.brokerFault = brokerFault
        self.locking = locking
        self.chip = chip
    }

    /// Writes the state.
    public func encode(to writer: inout WireWriter) {
        let status = authentication
        writer.writeArrayHead(count: chip == nil ? 39 : 40)
        writer.write(unsigned: UInt64(keybag.rawValue))
        writer.write(unsigned: UInt64(assurance.rawValue))
        writer.write(texts: assuranceReasons)
        writer.write(optionalText: status.sensor)
        writer.write(optionalText: status.sensorFault?.domain)
        writer.write(optionalText: status.sensorFault?.code)
        writer.write(texts: status.fingers)
        writer.write(optionalUnsigned: status.binding.map { UInt64($0.rawValue) })
        writer.write(Int64(status.biometryFailures))
        writer.write(status.isBiometryLockedOut)
        writer.write(Int64(status.passcodeFailures))
        writer.write(status.passcodeDelay)
        writer.write(status.isClosed)
        writer.write(optionalText: promptFault)
        writer.write(text: daemonVersion)
        writer.write(daemonProcess)
        for fault in [status.hardwareFault, status.storeFault] {
            writer.write(optionalText: fault?.domain)
            writer.write(optionalText: fault?.code)
        }
        writer.write(status.isTamperedWith)
        writer.write(texts: storeFaults)
        writer.write(optionalText: itemsFault?.domain)
        writer.write(optionalText: itemsFault?.code)
        writer.write(unsigned: UInt64(status.sensorFacts.grade.rawValue))
        writer.write(unsigned: UInt64(status.sensorFacts.gradedBy.rawValue))
        writer.write(status.sensorFacts.matchesOnChip)
        writer.write(optionalText: status.sensorFacts.scanType)
        writer.write(optionalFlag: status.sensorFacts.hasSecureChannel)
        writer.write(optionalFlag: status.sensorFacts.detectsLiveness)
        writer.write(optionalText: brokerFault?.domain)
        writer.write(optionalText: brokerFault?.code)
        writer.write(locking.triggers.screen)
        writer.write(locking.triggers.sleep)
        writer.write(locking.triggers.lid)
        writer.write(optionalUnsigned: locking.triggers.idle.map { UInt64($0.components.seconds) })
        writer.write(optionalText: locking.sessionsFault)
        writer.write(optionalText: locking.screenSaver)
        writer.write(optionalUnsigned: locking.secondsLeft.map { UInt64(clamping: $0) })
        if let chip { writer.write(texts: [chip.manufacturer, chip.model, chip.firmware]) }
    }

    /// Reads the state.
    public init(from reader: inout CBORReader) throws {
        let hasChip = try reader.readFieldsOrOneMore(39)
        guard let keybag = UInt8(exactly: try reader.readUnsigned()).flatMap(KeybagState.init),
            let assurance = Assurance(rawValue: Int(truncatingIfNeeded: try reader.readUnsigned()))
        else { throw WireError.malformed }
        self.keybag = keybag
        self.assurance = assurance
        assuranceReasons = try reader.readTexts()
        var status = AuthenticationStatus()
        status.sensor = try reader.readOptional { try $0.readText() }
        status.sensorFault = try Self.readCause(&reader)
        status.fingers = try reader.readTexts()
        status.binding = try reader.readOptional { try $0.readUnsigned() }
            .flatMap { UInt8(exactly: $0) }.flatMap(Enrolment.Binding.init)
        status.biometryFailures = Int(try reader.readInteger())
        status.isBiometryLockedOut = try reader.readBool()
        status.passcodeFailures = Int(try reader.readInteger())
        status.passcodeDelay = try reader.readInteger()
        status.isClosed = try reader.readBool()
        promptFault = try reader.readOptional { try $0.readText() }
        daemonVersion = try reader.readText()
        daemonProcess = try reader.readInteger()
        status.hardwareFault = try Self.readCause(&reader)
        status.storeFault = try Self.readCause(&reader)
        status.isTamperedWith = try reader.readBool()
        storeFaults = try reader.readTexts()
        itemsFault = try Self.readCause(&reader)
        guard let grade = UInt8(exactly: try reader.readUnsigned()).flatMap(SensorFacts.Grade.init),
            let grader = UInt8(exactly: try reader.readUnsigned()).flatMap(SensorFacts.Grader.init)
        else { throw WireError.malformed }
        status.sensorFacts = SensorFacts(
            grade: grade,
            gradedBy: grader,
            matchesOnChip: try reader.readBool(),
            scanType: try reader.readOptional { try $0.readText() }
        )
        status.sensorFacts.hasSecureChannel = try reader.readOptional { try $0.readBool() }
        status.sensorFacts.detectsLiveness = try reader.readOptional { try $0.readBool() }
        brokerFault = try Self.readCause(&reader)
        locking = LockingStatus(
            triggers: LockTriggers(
                screen: try reader.readBool(),
                sleep: try reader.readBool(),
                lid: try reader.readBool(),
                idle: try reader.readOptional { try Self.readSeconds(&$0) }.map(Duration.seconds)
            ),
            sessionsFault: try reader.readOptional { try $0.readText() },
            screenSaver: try reader.readOptional { try $0.readText() },
            secondsLeft: try reader.readOptional { try Self.readSeconds(&$0) }
        )
        if hasChip {
            try reader.readFields(3)
            chip = ChipVersion(
                manufacturer: try reader.readText(),
                model: try reader.readText(),
                firmware: try reader.readText()
            )
        }
        authentication = status
    }
}

extension StatusReply {
    private static let tracedMark = "The daemon was traced when it started"

    /// The reason of a daemon that a tracer had in its hand when it started.
    package static func traced(by tracer: String) -> String {
        "\(tracedMark), by \(tracer), which can know every secret."
    }

    /// ``traced(by:)``, if it is one of the reasons.
    package var tracedReason: String? { assuranceReasons.first { $0.hasPrefix(Self.tracedMark) } }

    /// A time of at most ``LockTime/longest``.
    private static func readSeconds(_ reader: inout CBORReader) throws -> Int64 {
        let seconds = try reader.readUnsigned()
        guard seconds <= LockTime.longest else { throw WireError.malformed }
        return Int64(seconds)
    }

    private static func readCause(_ reader: inout CBORReader) throws -> DriverCause? {
        let domain = try reader.readOptional { try $0.readText() }
        let code = try reader.readOptional { try $0.readText() }
        guard let domain, let code else { return nil }
        return DriverCause(domain: domain, code: code)
    }
}

/// When to lock: the body of ``Method/lock``.
public struct LockRequest: WireBody, Sendable, Equatable {
    /// The seconds to wait, at most ``LockTime/longest``; nil for now.
    public let seconds: UInt64?

    /// Asks to lock now, or after a time.
    public init(after seconds: UInt64? = nil) { self.seconds = seconds }

    /// Writes the seconds, or null.
    public func encode(to writer: inout WireWriter) { writer.write(optionalUnsigned: seconds) }

    /// Reads seconds, or null.
    public init(from reader: inout CBORReader) throws {
        seconds = try reader.readOptional { try $0.readUnsigned() }
    }
}

/// The result of a check of the store.
public struct CheckReply: WireBody, Sendable, Equatable {
    /// The report.
    public let report: StoreReport

    /// Wraps a report.
    public init(_ report: StoreReport) { self.report = report }

    /// Writes the report.
    public func encode(to writer: inout WireWriter) {
        writer.writeArrayHead(count: 5)
        writer.write(Int64(report.items))
        writer.write(Int64(report.invalidated))
        writer.write(Int64(report.damaged))
        writer.write(report.isSetAuthentic)
        writer.write(texts: report.faults)
    }

    /// Reads a report.
    public init(from reader: inout CBORReader) throws {
        try reader.readFields(5)
        report = StoreReport(
            items: Int(try reader.readInteger()),
            invalidated: Int(try reader.readInteger()),
            damaged: Int(try reader.readInteger()),
            isSetAuthentic: try reader.readBool(),
            faults: try reader.readTexts()
        )
    }
}

extension WireWriter {
    /// Writes an array of texts.
    mutating func write(texts: [String]) {
        writeArrayHead(count: texts.count)
        for text in texts { write(text: text) }
    }
}

extension CBORReader {
    /// Reads an array of texts.
    mutating func readTexts() throws -> [String] {
        var texts: [String] = []
        for _ in 0..<(try readArrayHead()) { texts.append(try readText()) }
        return texts
    }
}
