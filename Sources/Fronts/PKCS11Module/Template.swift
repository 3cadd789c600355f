import CPKCS11

/// The attributes that a program gives.
struct Template {
    /// The most attributes in one template.
    static let most: CK_ULONG = 256

    struct Entry {
        let type: CK_ATTRIBUTE_TYPE
        let value: [UInt8]

        /// The value of a `CK_BBOOL`.
        func flag() throws(ReturnValue) -> Bool {
            guard value.count == 1, value[0] <= CK_TRUE else { throw .attributeValueInvalid }
            return value[0] == CK_TRUE
        }

        /// The value of a `CK_ULONG`.
        func number() throws(ReturnValue) -> CK_ULONG {
            guard value.count == MemoryLayout<CK_ULONG>.size else { throw .attributeValueInvalid }
            return unsafe value.withUnsafeBytes { unsafe $0.loadUnaligned(as: CK_ULONG.self) }
        }
    }

    let entries: [Entry]

    /// Copies a program's template.
    ///
    /// - Throws: `CKR_ARGUMENTS_BAD` for a missing array, too many attributes, or a value that is missing or too long.
    init(_ attributes: UnsafeMutablePointer<CK_ATTRIBUTE>?, _ count: CK_ULONG) throws(ReturnValue) {
        guard count <= Self.most, unsafe count == 0 || attributes != nil else { throw .argumentsBad }
        var entries: [Entry] = []
        let given = unsafe UnsafeBufferPointer(start: attributes, count: Int(count))
        for index in given.indices {
            let attribute = unsafe given[index]
            let input = try unsafe Input(attribute.pValue, attribute.ulValueLen, tooLong: .argumentsBad)
            entries.append(Entry(type: unsafe attribute.type, value: unsafe Array(input.octets)))
        }
        self.entries = entries
    }

    /// The class that an object must have; nil if the template names none.
    ///
    /// - Throws: `CKR_ATTRIBUTE_VALUE_INVALID`.
    func objectClass() throws(ReturnValue) -> CK_OBJECT_CLASS? {
        guard let entry = entries.first(where: { $0.type == CKA_CLASS }) else { return nil }
        return try entry.number()
    }

    /// Whether it asks for objects of sessions alone.
    var excludesToken: Bool {
        entries.contains { $0.type == CKA_TOKEN && $0.value == StoredObject.flag(false) }
    }
}

/// Memory of the program that is read.
@safe
struct Input {
    let octets: UnsafeRawBufferPointer

    /// - Throws: `CKR_ARGUMENTS_BAD` for none with a length, `tooLong` beyond the limit.
    init(
        _ start: UnsafeRawPointer?,
        _ count: CK_ULONG,
        tooLong: ReturnValue = .dataLenRange
    ) throws(ReturnValue) {
        guard count <= Module.mostData else { throw tooLong }
        guard unsafe count == 0 || start != nil else { throw .argumentsBad }
        unsafe octets = UnsafeRawBufferPointer(start: start, count: Int(count))
    }
}

/// Memory of the program for a result, whose length it says and learns (PKCS #11 2.40, section 5.2).
@safe
struct Output {
    private let start: UnsafeMutablePointer<UInt8>?
    private let count: UnsafeMutablePointer<CK_ULONG>

    /// - Throws: `CKR_ARGUMENTS_BAD` without a place for the length.
    init(
        _ start: UnsafeMutablePointer<UInt8>?,
        _ count: UnsafeMutablePointer<CK_ULONG>?
    ) throws(ReturnValue) {
        guard let count = unsafe count else { throw .argumentsBad }
        unsafe self.start = unsafe start
        unsafe self.count = unsafe count
    }

    /// Says the length of the result, and whether the program asked for that alone.
    ///
    /// - Throws: `CKR_BUFFER_TOO_SMALL`.
    func asksForSize(_ needed: Int) throws(ReturnValue) -> Bool {
        let given = unsafe count.pointee
        unsafe count.pointee = CK_ULONG(needed)
        if unsafe start == nil { return true }
        guard given >= CK_ULONG(needed) else { throw .bufferTooSmall }
        return false
    }

    /// Writes the result, for which there is room.
    func write(_ octets: Span<UInt8>) {
        unsafe count.pointee = CK_ULONG(octets.count)
        unsafe octets.withUnsafeBytes { source in
            guard let start = unsafe start, let base = source.baseAddress else { return }
            unsafe UnsafeMutableRawPointer(start).copyMemory(from: base, byteCount: source.count)
        }
    }
}
