public import CoreFoundation
public import Foundation

/// An X.509 certificate.
///
/// It is read, not judged: signatures, validity and chains are for the app's own library of certificates, and the keychain
/// keeps none (`kSecClassCertificate` answers `errSecUnimplemented`).
public final class SecCertificate: NSObject, CoreFoundationType, @unchecked Sendable {  // immutable
    /// The whole certificate, DER.
    let encoded: [UInt8]
    /// The fields that are asked for.
    let fields: CertificateFields

    init(_ encoded: [UInt8]) throws {
        fields = try CertificateFields(derEncoded: encoded)
        self.encoded = encoded
        super.init()
    }

    /// `SecCertificateGetTypeID`.
    public static var coreFoundationTypeID: CFTypeID { SecCertificateGetTypeID() }

    /// Two are equal when their bytes are.
    public override func isEqual(_ object: Any?) -> Bool { (object as? SecCertificate)?.encoded == encoded }

    /// A hash that equal ones share.
    public override var hash: Int { encoded.hashValue }

    /// The names of subject and issuer, for people who debug.
    public override var description: String {
        "<cert: s: \(fields.subjectSummary ?? "(null)") i: \(fields.issuer.summary?.text ?? "(null)")>"
    }
}

/// `SecCertificateGetTypeID`: a number that none of Core Foundation's own types has.
public func SecCertificateGetTypeID() -> CFTypeID { 0x103 }

/// `SecCertificateCreateWithData`: reads one certificate in DER (RFC 5280, section 4.1).
///
/// - Returns: nil for anything else, PEM and bytes behind the certificate included.
public func SecCertificateCreateWithData(_ allocator: CFAllocator?, _ data: CFData) -> SecCertificate? {
    try? SecCertificate([UInt8](data as Data))
}

/// `SecCertificateCopyData`: the certificate in DER, as it was read.
public func SecCertificateCopyData(_ certificate: SecCertificate) -> CFData {
    NSData(data: Data(certificate.encoded))
}
