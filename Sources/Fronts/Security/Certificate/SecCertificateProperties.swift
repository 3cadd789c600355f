public import CoreFoundation
import Foundation

/// `SecCertificateCopySubjectSummary`: a name of the subject for display.
///
/// The common name, with a description in parentheses. Without a common name: the first email address or DNS name; else
/// the organizational unit, the organization, or the remaining attributes of the name.
public func SecCertificateCopySubjectSummary(_ certificate: SecCertificate) -> CFString? {
    certificate.fields.subjectSummary as NSString?
}

/// `SecCertificateCopyCommonName`: the last common name of the subject.
///
/// - Returns: -26276, `errSecInternal`, if the subject has none; `commonName` is then unchanged.
@discardableResult
public func SecCertificateCopyCommonName(
    _ certificate: SecCertificate,
    _ commonName: UnsafeMutablePointer<CFString?>
) -> OSStatus {
    guard let name = certificate.fields.subject.values(.commonName).last else { return errSecInternal }
    commonName.pointee = name as NSString
    return errSecSuccess
}

/// `SecCertificateCopyEmailAddresses`: all of the subject's email addresses; an empty array if it has none.
@discardableResult
public func SecCertificateCopyEmailAddresses(
    _ certificate: SecCertificate,
    _ emailAddresses: UnsafeMutablePointer<CFArray?>
) -> OSStatus {
    emailAddresses.pointee = certificate.fields.emailAddresses.map { $0 as NSString } as NSArray
    return errSecSuccess
}

/// `SecCertificateCopySerialNumberData`: the bytes of the serial number as in the certificate: two's complement,
/// big-endian.
public func SecCertificateCopySerialNumberData(
    _ certificate: SecCertificate,
    _ error: UnsafeMutablePointer<Unmanaged<CFError>?>?
) -> CFData? {
    NSData(data: Data(certificate.fields.serialNumber))
}

/// `SecCertificateCopyKey`: the subject's public key; nil unless it is RSA or on P-256, P-384 or P-521.
public func SecCertificateCopyKey(_ certificate: SecCertificate) -> SecKey? {
    certificate.fields.publicKey.map { SecKey($0) }
}

/// `SecCertificateCopyNotValidBeforeDate`: when the certificate's validity begins.
public func SecCertificateCopyNotValidBeforeDate(_ certificate: SecCertificate) -> CFDate? {
    certificate.fields.notValidBefore as NSDate
}

/// `SecCertificateCopyNotValidAfterDate`: when the certificate's validity ends.
public func SecCertificateCopyNotValidAfterDate(_ certificate: SecCertificate) -> CFDate? {
    certificate.fields.notValidAfter as NSDate
}

/// Has no public name on Apple's systems.
private let errSecInternal: OSStatus = -26276
