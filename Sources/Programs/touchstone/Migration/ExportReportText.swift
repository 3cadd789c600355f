import KeychainModel

/// The items that an export left out, in words and as JSON.
extension ExportReport {
    /// One line for each reason, and one for each named item.
    var leftOutLines: [String] {
        Reason.allCases.flatMap { reason -> [String] in
            guard let count = leftOut[reason], count > 0 else { return [] }
            let names = names.filter { $0.reason == reason }
            let items = names.map { "  \(Printable.text($0.group)): \(Printable.text($0.name))" }
            let hidden = count - names.count
            let rest = hidden > 0 && !names.isEmpty ? ["  and \(hidden) more"] : []
            return ["Left out, \(reason.sentence): \(count)"] + items + rest
        }
    }

    /// All details, for programs.
    func json(_ path: String) -> JSONText {
        let reasons = Reason.allCases.compactMap { reason -> JSONText? in
            guard let count = leftOut[reason], count > 0 else { return nil }
            let items = names.filter { $0.reason == reason }.map { item in
                JSONText.object([("group", .text(item.group)), ("name", .text(item.name))])
            }
            return .object([
                ("reason", .text(reason.name)), ("count", .number(Int64(count))), ("items", .list(items)),
            ])
        }
        return .object([
            ("file", .text(path)), ("items", .number(Int64(items))), ("leftOut", .list(reasons)),
            ("isSetAuthentic", .flag(isSetAuthentic)),
        ])
    }
}

extension ExportReport.Reason {
    fileprivate var sentence: String {
        switch self {
        case .thisDeviceOnly: "because they belong to this device alone"
        case .enrolledSet: "because they require the fingers enrolled on this machine"
        case .applicationPassword: "because only an application's password opens them"
        case .privateKey: "because private keys never leave"
        case .damaged: "because they are damaged"
        }
    }

    fileprivate var name: String {
        switch self {
        case .thisDeviceOnly: "thisDeviceOnly"
        case .enrolledSet: "enrolledSet"
        case .applicationPassword: "applicationPassword"
        case .privateKey: "privateKey"
        case .damaged: "damaged"
        }
    }
}
