public import CoreFoundation

// The values of `kSecAttrProtocol` and `kSecAttrAuthenticationType`.
//
// String values as in Apple's published `SecItemConstants.c`. `nonisolated(unsafe)` because `NSString` is not
// Sendable; these never change.

/// Protocol `FTP`.
nonisolated(unsafe) public let kSecAttrProtocolFTP: CFString = "ftp "
/// Protocol `FTPAccount`.
nonisolated(unsafe) public let kSecAttrProtocolFTPAccount: CFString = "ftpa"
/// Protocol `HTTP`.
nonisolated(unsafe) public let kSecAttrProtocolHTTP: CFString = "http"
/// Protocol `IRC`.
nonisolated(unsafe) public let kSecAttrProtocolIRC: CFString = "irc "
/// Protocol `NNTP`.
nonisolated(unsafe) public let kSecAttrProtocolNNTP: CFString = "nntp"
/// Protocol `POP3`.
nonisolated(unsafe) public let kSecAttrProtocolPOP3: CFString = "pop3"
/// Protocol `SMTP`.
nonisolated(unsafe) public let kSecAttrProtocolSMTP: CFString = "smtp"
/// Protocol `SOCKS`.
nonisolated(unsafe) public let kSecAttrProtocolSOCKS: CFString = "sox "
/// Protocol `IMAP`.
nonisolated(unsafe) public let kSecAttrProtocolIMAP: CFString = "imap"
/// Protocol `LDAP`.
nonisolated(unsafe) public let kSecAttrProtocolLDAP: CFString = "ldap"
/// Protocol `AppleTalk`.
nonisolated(unsafe) public let kSecAttrProtocolAppleTalk: CFString = "atlk"
/// Protocol `AFP`.
nonisolated(unsafe) public let kSecAttrProtocolAFP: CFString = "afp "
/// Protocol `Telnet`.
nonisolated(unsafe) public let kSecAttrProtocolTelnet: CFString = "teln"
/// Protocol `SSH`.
nonisolated(unsafe) public let kSecAttrProtocolSSH: CFString = "ssh "
/// Protocol `FTPS`.
nonisolated(unsafe) public let kSecAttrProtocolFTPS: CFString = "ftps"
/// Protocol `HTTPS`.
nonisolated(unsafe) public let kSecAttrProtocolHTTPS: CFString = "htps"
/// Protocol `HTTPProxy`.
nonisolated(unsafe) public let kSecAttrProtocolHTTPProxy: CFString = "htpx"
/// Protocol `HTTPSProxy`.
nonisolated(unsafe) public let kSecAttrProtocolHTTPSProxy: CFString = "htsx"
/// Protocol `FTPProxy`.
nonisolated(unsafe) public let kSecAttrProtocolFTPProxy: CFString = "ftpx"
/// Protocol `SMB`.
nonisolated(unsafe) public let kSecAttrProtocolSMB: CFString = "smb "
/// Protocol `RTSP`.
nonisolated(unsafe) public let kSecAttrProtocolRTSP: CFString = "rtsp"
/// Protocol `RTSPProxy`.
nonisolated(unsafe) public let kSecAttrProtocolRTSPProxy: CFString = "rtsx"
/// Protocol `DAAP`.
nonisolated(unsafe) public let kSecAttrProtocolDAAP: CFString = "daap"
/// Protocol `EPPC`.
nonisolated(unsafe) public let kSecAttrProtocolEPPC: CFString = "eppc"
/// Protocol `IPP`.
nonisolated(unsafe) public let kSecAttrProtocolIPP: CFString = "ipp "
/// Protocol `NNTPS`.
nonisolated(unsafe) public let kSecAttrProtocolNNTPS: CFString = "ntps"
/// Protocol `LDAPS`.
nonisolated(unsafe) public let kSecAttrProtocolLDAPS: CFString = "ldps"
/// Protocol `TelnetS`.
nonisolated(unsafe) public let kSecAttrProtocolTelnetS: CFString = "tels"
/// Protocol `IMAPS`.
nonisolated(unsafe) public let kSecAttrProtocolIMAPS: CFString = "imps"
/// Protocol `IRCS`.
nonisolated(unsafe) public let kSecAttrProtocolIRCS: CFString = "ircs"
/// Protocol `POP3S`.
nonisolated(unsafe) public let kSecAttrProtocolPOP3S: CFString = "pops"
/// Authentication `NTLM`.
nonisolated(unsafe) public let kSecAttrAuthenticationTypeNTLM: CFString = "ntlm"
/// Authentication `MSN`.
nonisolated(unsafe) public let kSecAttrAuthenticationTypeMSN: CFString = "msna"
/// Authentication `DPA`.
nonisolated(unsafe) public let kSecAttrAuthenticationTypeDPA: CFString = "dpaa"
/// Authentication `RPA`.
nonisolated(unsafe) public let kSecAttrAuthenticationTypeRPA: CFString = "rpaa"
/// Authentication `HTTPBasic`.
nonisolated(unsafe) public let kSecAttrAuthenticationTypeHTTPBasic: CFString = "http"
/// Authentication `HTTPDigest`.
nonisolated(unsafe) public let kSecAttrAuthenticationTypeHTTPDigest: CFString = "httd"
/// Authentication `HTMLForm`.
nonisolated(unsafe) public let kSecAttrAuthenticationTypeHTMLForm: CFString = "form"
/// Authentication `Default`.
nonisolated(unsafe) public let kSecAttrAuthenticationTypeDefault: CFString = "dflt"
