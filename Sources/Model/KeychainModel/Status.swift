/// Apple's `OSStatus` results of the keychain, by their own numbers; unknown numbers are kept.
///
/// Source of the numbers: `SecBase.h` of Apple's published Security framework.
public struct Status: RawRepresentable, Hashable, Sendable {
    /// The number that crosses the wire and the public front.
    public let rawValue: Int32

    /// Accepts any number: a newer daemon may send results that this client does not know.
    public init(rawValue: Int32) { self.rawValue = rawValue }

    /// `errSecSuccess`: no error.
    public static let success = Status(rawValue: 0)
    /// `errSecUnimplemented`: function or operation not implemented.
    public static let unimplemented = Status(rawValue: -4)
    /// `errSecDiskFull`: the disk is full; nothing was changed.
    public static let diskFull = Status(rawValue: -34)
    /// `errSecIO`: input or output failed.
    public static let io = Status(rawValue: -36)
    /// `errSecParam`: a parameter was wrong.
    public static let param = Status(rawValue: -50)
    /// `errSecAllocate`: memory could not be allocated.
    public static let allocate = Status(rawValue: -108)
    /// `errSecUserCanceled`: the user stopped the operation.
    public static let userCanceled = Status(rawValue: -128)
    /// `errSecBadReq`: bad parameter or state for the operation.
    public static let badReq = Status(rawValue: -909)
    /// `errSecInternalComponent`: a part of the keychain failed.
    public static let internalComponent = Status(rawValue: -2070)
    /// `errSecNotAvailable`: there is no keychain, or the daemon cannot be reached.
    public static let notAvailable = Status(rawValue: -25291)
    /// `errSecReadOnly`: the store cannot be written.
    public static let readOnly = Status(rawValue: -25292)
    /// `errSecAuthFailed`: authorisation or authentication failed.
    public static let authFailed = Status(rawValue: -25293)
    /// `errSecDuplicateItem`: an item with this primary key exists.
    public static let duplicateItem = Status(rawValue: -25299)
    /// `errSecItemNotFound`: no item matched.
    public static let itemNotFound = Status(rawValue: -25300)
    /// `errSecDataTooLarge`: the data is too large.
    public static let dataTooLarge = Status(rawValue: -25302)
    /// `errSecNoSuchAttr`: the attribute does not belong to this class.
    public static let noSuchAttr = Status(rawValue: -25303)
    /// `errSecNoSuchClass`: there is no such item class.
    public static let noSuchClass = Status(rawValue: -25306)
    /// `errSecInteractionNotAllowed`: a prompt is needed and not allowed, or the item is locked.
    public static let interactionNotAllowed = Status(rawValue: -25308)
    /// `errSecInteractionRequired`: the user has to be prompted first.
    public static let interactionRequired = Status(rawValue: -25315)
    /// `errSecDecode`: the stored bytes could not be decoded: the item is damaged.
    public static let decode = Status(rawValue: -26275)
    /// `errSecMissingEntitlement`: the caller may not use this access group.
    public static let missingEntitlement = Status(rawValue: -34018)
}
