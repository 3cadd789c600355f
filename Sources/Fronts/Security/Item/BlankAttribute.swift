import Foundation
import KeychainModel

/// A primary-key attribute that was not given, as it is returned: Apple's item schema stores it empty or zero
/// (`SecItemSchema.c`, flags E and Z; `ConformanceTests/DefaultsTests.swift`).
///
/// The store does not keep them, so that old items return them too. The access group and the synchronizable flag are
/// always returned; a token ID and a view hint have no such default.
struct BlankAttribute {
    let key: AttributeKey
    let keyObject: NSString
    let object: NSObject

    private init(_ name: String, _ object: NSObject) {
        key = AttributeKey(rawValue: name)
        keyObject = NSString(string: name)
        self.object = object
    }

    /// The blank attributes of a class, at most 16.
    static func all(of itemClass: ItemClass?) -> [BlankAttribute] {
        switch itemClass {
        case .genericPassword: genericPassword
        case .internetPassword: internetPassword
        case .key: key
        case .certificate, .identity, nil: []
        }
    }

    // All objects are immutable.
    nonisolated(unsafe) private static let text = NSString(string: "")
    private static let zero = NSNumber(value: 0)
    /// 2001-01-01 00:00:00 UTC.
    private static let noDate = NSDate(timeIntervalSinceReferenceDate: 0)

    nonisolated(unsafe) private static let genericPassword = [
        BlankAttribute("acct", text), BlankAttribute("svce", text),
    ]
    nonisolated(unsafe) private static let internetPassword = [
        BlankAttribute("acct", text), BlankAttribute("sdmn", text), BlankAttribute("srvr", text),
        BlankAttribute("ptcl", zero), BlankAttribute("atyp", text), BlankAttribute("port", zero),
        BlankAttribute("path", text),
    ]
    nonisolated(unsafe) private static let key = [
        BlankAttribute("kcls", zero), BlankAttribute("klbl", NSData()), BlankAttribute("atag", text),
        BlankAttribute("crtr", zero), BlankAttribute("type", zero), BlankAttribute("bsiz", zero),
        BlankAttribute("esiz", zero), BlankAttribute("sdat", noDate), BlankAttribute("edat", noDate),
    ]
}
