import Security
import Testing

@Suite("Core Foundation functions")
struct CoreFoundationTests {
    @Test("CFGetTypeID knows objects and bridged values")
    func typeIDs() {
        #expect(CFGetTypeID("x" as CFString) == CFStringGetTypeID())
        #expect(CFGetTypeID("x") == CFStringGetTypeID())
        #expect(CFGetTypeID(Data([1]) as CFData) == CFDataGetTypeID())
        #expect(CFGetTypeID(Data([1])) == CFDataGetTypeID())
        #expect(CFGetTypeID(["a": 1] as CFDictionary) == CFDictionaryGetTypeID())
        #expect(CFGetTypeID([1] as CFArray) == CFArrayGetTypeID())
        #expect(CFGetTypeID(3 as CFNumber) == CFNumberGetTypeID())
        #expect(CFGetTypeID(1 as CFNumber) == CFNumberGetTypeID())
        #expect(CFGetTypeID(kCFBooleanTrue) == CFBooleanGetTypeID())
        #expect(CFGetTypeID(true) == CFBooleanGetTypeID())
        #expect(CFGetTypeID(Date() as CFDate) == CFDateGetTypeID())
        #expect(CFGetTypeID(kCFNull) == CFNullGetTypeID())
        #expect(CFGetTypeID(NSError(domain: "d", code: 1)) == CFErrorGetTypeID())
        #expect(CFGetTypeID(NSSet(array: [1]) as CFSet) == CFSetGetTypeID())
        #expect(CFGetTypeID(Set([1])) == CFSetGetTypeID())
        #expect(CFGetTypeID(nil) == 0)
        let all = [
            CFStringGetTypeID(), CFDataGetTypeID(), CFDictionaryGetTypeID(), CFArrayGetTypeID(),
            CFSetGetTypeID(),
            CFNumberGetTypeID(), CFBooleanGetTypeID(), CFDateGetTypeID(), CFNullGetTypeID(),
            CFErrorGetTypeID(),
            SecKeyGetTypeID(), SecCertificateGetTypeID(), SecIdentityGetTypeID(), SecTrustGetTypeID(),
            SecAccessControlGetTypeID(),
        ]
        #expect(Set(all).count == all.count)
    }

    @Test("data without a copy are the caller's memory, which is freed only by the default allocator")
    func noCopy() throws {
        let bytes = UnsafeMutablePointer<UInt8>.allocate(capacity: 4)
        defer { bytes.deallocate() }
        bytes.initialize(repeating: 7, count: 4)
        do {
            let data = try #require(
                CFDataCreateWithBytesNoCopy(kCFAllocatorDefault, bytes, 4, kCFAllocatorNull)
            )
            #expect(CFDataGetBytePtr(data) == UnsafePointer(bytes) && CFDataGetLength(data) == 4)
            bytes[0] = 9
            #expect(data as Data == Data([9, 7, 7, 7]))
        }
        // The memory is still the caller's: a second owner would free it twice.
        #expect(bytes[3] == 7)
        let given = try #require(malloc(3)).assumingMemoryBound(to: UInt8.self)
        given.initialize(repeating: 5, count: 3)
        let owner = try #require(CFDataCreateWithBytesNoCopy(nil, given, 3, kCFAllocatorDefault))
        #expect(CFDataGetBytePtr(owner) == UnsafePointer(given) && owner as Data == Data([5, 5, 5]))
        #expect(CFDataCreateWithBytesNoCopy(nil, bytes, 0, kCFAllocatorNull) == NSData())
    }

    @Test("names of other types mean what they do on Apple's systems")
    func names() {
        let code: FourCharCode = 0x6161_706C
        let domain: CFErrorDomain = NSOSStatusErrorDomain as CFString
        #expect(CFErrorGetDomain(CFErrorCreate(nil, domain, NSInteger(code), nil)) == domain)
        #expect(kCFBundleIdentifierKey as String == "CFBundleIdentifier")
    }

    @Test("the import of identities is unimplemented and leaves everything as it was")
    func identities() {
        let options = [kSecImportExportPassphrase: "secret"] as CFDictionary
        for data in [Data(), Data([0x30, 0])] {
            var items: CFArray? = ["kept"] as CFArray
            #expect(SecPKCS12Import(data as CFData, options, &items) == errSecUnimplemented)
            #expect(items as? [String] == ["kept"])
            #expect(TouchstoneCopyLastError()?.code == Int(errSecUnimplemented))
        }
        let keys = [
            kSecImportExportPassphrase, kSecImportItemLabel, kSecImportItemKeyID, kSecImportItemTrust,
            kSecImportItemCertChain, kSecImportItemIdentity,
        ]
        #expect(keys.map { $0 as String } == ["passphrase", "label", "keyid", "trust", "chain", "identity"])
        #expect(
            SecCopyErrorMessageString(errSecCertificateRevoked, nil) as String?
                == "The certificate was revoked."
        )
    }

    @Test("CFEqual and CFHash compare objects and values")
    func equality() {
        #expect(CFEqual("a" as CFString, "a"))
        #expect(!CFEqual("a", "b"))
        #expect(!CFEqual("a", nil))
        #expect(CFEqual(kSecClass, "class"))
        #expect(CFHash("a" as CFString) == CFHash("a" as NSString))
        #expect(CFCopyDescription("a") as String? == "a")
    }

    @Test("a dictionary can be built with pointers")
    func pointers() {
        let query = CFDictionaryCreateMutable(
            kCFAllocatorDefault,
            0,
            &kCFTypeDictionaryKeyCallBacks,
            &kCFTypeDictionaryValueCallBacks
        )
        let account = "ada" as NSString
        let other = "grace" as NSString
        CFDictionarySetValue(
            query,
            Unmanaged.passUnretained(kSecAttrAccount).toOpaque(),
            Unmanaged.passUnretained(account).toOpaque()
        )
        CFDictionaryAddValue(
            query,
            Unmanaged.passUnretained(kSecAttrAccount).toOpaque(),
            Unmanaged.passUnretained(other).toOpaque()
        )
        #expect(CFDictionaryGetCount(query) == 1)
        #expect(query as? [String: String] == ["acct": "ada"])
        #expect(query?[kSecAttrAccount] as? String == "ada")
    }

    @Test("CFDictionaryGetValue and CFArrayGetValueAtIndex return borrowed object addresses")
    func lentObjects() throws {
        let object = NSObject()
        let query = ["acct": "ada", "data": Data([7]), "object": object] as CFDictionary
        func value(_ key: String) -> UnsafeRawPointer? {
            let key = key as NSString
            return withExtendedLifetime(key) {
                CFDictionaryGetValue(query, Unmanaged.passUnretained(key).toOpaque())
            }
        }
        let address = try #require(value("acct"))
        #expect(value("acct") == address)
        #expect(Unmanaged<CFString>.fromOpaque(address).takeUnretainedValue() == "ada")
        let data = try #require(value("data"))
        #expect(Unmanaged<CFData>.fromOpaque(data).takeUnretainedValue() as Data == Data([7]))
        #expect(value("object") == UnsafeRawPointer(Unmanaged.passUnretained(object).toOpaque()))
        #expect(value("none") == nil)
        let list = ["a", object] as CFArray
        let first = try #require(CFArrayGetValueAtIndex(list, 0))
        #expect(Unmanaged<CFString>.fromOpaque(first).takeUnretainedValue() == "a")
        #expect(
            CFArrayGetValueAtIndex(list, 1) == UnsafeRawPointer(Unmanaged.passUnretained(object).toOpaque())
        )
    }

    @Test("CFError functions return an error's parts")
    func errors() throws {
        let error = try #require(
            CFErrorCreate(
                kCFAllocatorDefault,
                NSOSStatusErrorDomain as CFString,
                -50,
                [NSLocalizedDescriptionKey: "wrong"] as CFDictionary
            )
        )
        #expect(CFErrorGetCode(error) == -50)
        #expect(CFErrorGetDomain(error) as String == NSOSStatusErrorDomain)
        #expect(CFErrorCopyDescription(error) as String == "wrong")
        #expect(CFErrorCopyUserInfo(error)[NSLocalizedDescriptionKey] as? String == "wrong")
    }

    @Test("CFData functions return bytes and lengths")
    func octets() {
        let data = CFDataCreate(nil, [1, 2, 3], 3)
        #expect(CFDataGetLength(data) == 3)
        #expect(CFDataGetBytePtr(data)[2] == 3)
        #expect(CFArrayGetCount([1, 2] as CFArray) == 2)
    }

    @Test("missing Foundation functions are provided")
    func gaps() throws {
        let query = NSMutableDictionary()
        query.setValue("ada", forKey: kSecAttrAccount as String)
        query.setValue(kCFBooleanTrue, forKey: kSecReturnData as String)
        #expect(query.count == 2)
        query.setValue(nil, forKey: kSecReturnData as String)
        #expect(query as? [String: String] == ["acct": "ada"])
        #expect(autoreleasepool { 7 } == 7)
        #expect(noErr == errSecSuccess)
    }

    @Test("shared web credential passwords differ and contain every kind of character")
    func passwords() throws {
        let passwords = (0..<50).compactMap { _ in SecCreateSharedWebCredentialPassword() as String? }
        #expect(Set(passwords).count == 50)
        for password in passwords {
            #expect(password.split(separator: "-").map(\.count) == [3, 3, 3, 3])
            #expect(password.contains { $0.isUppercase } && password.contains { $0.isLowercase })
            #expect(password.contains { $0.isNumber })
        }
    }

    @Test("SecRandomCopyBytes fills memory with random bytes")
    func random() {
        var octets = [UInt8](repeating: 0, count: 64)
        #expect(SecRandomCopyBytes(kSecRandomDefault, octets.count, &octets) == errSecSuccess)
        #expect(Set(octets).count > 16)
        #expect(SecRandomCopyBytes(kSecRandomDefault, 0, &octets) == errSecSuccess)
        #expect(SecRandomCopyBytes(kSecRandomDefault, -1, &octets) == errSecParam)
        var data = Data(count: 32)
        let status = data.withUnsafeMutableBytes { bytes -> Int32 in
            guard let address = bytes.baseAddress else { return errSecAllocate }
            return SecRandomCopyBytes(kSecRandomDefault, 32, address)
        }
        #expect(status == errSecSuccess)
        #expect(data != Data(count: 32))
    }
}
