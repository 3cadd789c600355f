public import CoreFoundation
public import Foundation

/// An X.509 certificate.
///
/// The certificate is parsed but not verified: signatures, validity and chains are left to the app's own certificate
/// library, and the keychain stores no certificates (adding one fails with `errSecUnimplemented`, searches find none).
public final class SecCertificate: NSObject, CoreFoundationType, @unchecked Sendable {  // immutable
    /// The complete certificate in DER.
    let encoded: [UInt8]
    /// The fields that functions return.
    let fields: CertificateFields

    init(_ encoded: [UInt8]) throws {
        fields = try CertificateFields(derEncoded: encoded)
        self.encoded = encoded
        super.init()
    }

    /// `SecCertificateGetTypeID`.
    public static var coreFoundationTypeID: CFTypeID { SecCertificateGetTypeID() }

    /// Compares the encoded certificates.
    public override func isEqual(_ object: Any?) -> Bool { (object as? SecCertificate)?.encoded == encoded }

    /// A hash consistent with `isEqual(_:)`.
    public override var hash: Int { encoded.hashValue }

    /// The names of subject and issuer, for debugging.
    public override var description: String {
        "<cert: s: \(fields.subjectSummary ?? "(null)") i: \(fields.issuer.summary?.text ?? "(null)")>"
    }
}

/// `SecCertificateGetTypeID`: a number that no type of Core Foundation itself has.
public func SecCertificateGetTypeID() -> CFTypeID { 0x103 }

/// `SecCertificateCreateWithData`: parses one certificate in DER (RFC 5280, section 4.1).
///
/// - Returns: nil for anything else, including PEM and bytes after the certificate.
public func SecCertificateCreateWithData(_ allocator: CFAllocator?, _ data: CFData) -> SecCertificate? {
    try? SecCertificate([UInt8](data as Data))
}

/// `SecCertificateCopyData`: the certificate in DER, as it was given.
public func SecCertificateCopyData(_ certificate: SecCertificate) -> CFData {
    NSData(data: Data(certificate.encoded))
}
